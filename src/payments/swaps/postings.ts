import type { Hex } from 'viem';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, subtract, toDecimalText } from '../../money/amount.ts';
import { gasKeptOf, isCoin, type Swap } from './swap.ts';

/** The result of the swap transaction, by the Transfer logs of the tokens. */
export interface SwapOutcome {
  readonly amountOut: Amount;
  /** The part that the pools did not take because they ran dry. */
  readonly unspent: Amount;
}

/** Unwrapped coin leaves token custody. */
export function unwrapped(swap: Swap): Posting[] {
  if (!isCoin(swap)) return [];
  const { id, net } = swap;
  return [
    {
      type: 'swap_unwrapped',
      amount: net,
      entries: [
        { account: houseAccount('custody', net.asset), atomic: net.atomic },
        { account: houseAccount('unwrapped_in_transit', net.asset), atomic: -net.atomic },
      ],
      reference: `swap:${id}:unwrapped`,
      details: { swapId: id },
    },
  ];
}

/** The owner gets exactly what the chain paid out, and the part that the pools did not take. */
export function completed(swap: Swap, { amountOut, unspent }: SwapOutcome, txHash: Hex): Posting {
  const { id, accountId, keyId, amount, fee, net } = swap;
  const { asset } = amount;
  const left = isCoin(swap) ? 'unwrapped_in_transit' : 'custody';
  return {
    type: 'swap_completed',
    amount: amountOut,
    entries: [
      { account: houseAccount('swaps_in_transit', asset), atomic: -amount.atomic },
      { account: houseAccount(left, asset), atomic: net.atomic },
      { account: houseAccount('fees', asset), atomic: fee.atomic },
      { account: houseAccount('receivables', amountOut.asset), atomic: -amountOut.atomic },
      { account: userAccount(accountId, amountOut.asset), atomic: amountOut.atomic },
      ...(unspent.atomic > 0n
        ? [
            { account: houseAccount('receivables', asset), atomic: -unspent.atomic },
            { account: userAccount(accountId, asset), atomic: unspent.atomic },
          ]
        : []),
    ],
    reference: `swap:${id}:end`,
    description: `From ${toDecimalText(amount)} ${asset}`,
    details: {
      swapId: id,
      fromToken: asset,
      toToken: amountOut.asset,
      amountIn: toDecimalText(amount),
      airpayFee: toDecimalText(fee),
      amountOut: toDecimalText(amountOut),
      ...(unspent.atomic > 0n && { unspent: toDecimalText(unspent) }),
      txHash,
    },
    ...(keyId !== null && unspent.atomic > 0n && { returns: { of: id, part: unspent.atomic, whole: amount.atomic } }),
    recipientId: accountId,
    recipientEvent: 'swap.completed',
  };
}

/** Refunds the amount and the fee, less the gas that is kept. */
export function refund(swap: Swap, reason: string): Posting {
  const { id, accountId, keyId, amount, quoted } = swap;
  const { asset } = amount;
  const kept = gasKeptOf(swap);
  const back = subtract(amount, kept);
  return {
    type: 'swap_returned',
    amount: back,
    entries: [
      { account: houseAccount('swaps_in_transit', asset), atomic: -amount.atomic },
      { account: userAccount(accountId, asset), atomic: back.atomic },
      ...(kept.atomic > 0n ? [{ account: houseAccount('fees', asset), atomic: kept.atomic }] : []),
    ],
    reference: `swap:${id}:end`,
    description: `A swap to ${quoted.asset} failed.`,
    details: {
      swapId: id,
      fromToken: asset,
      toToken: quoted.asset,
      amountIn: toDecimalText(amount),
      gasFee: toDecimalText(kept),
      error: reason,
    },
    ...(keyId !== null && { returns: { of: id, part: back.atomic, whole: amount.atomic } }),
    recipientId: accountId,
    recipientEvent: 'swap.failed',
  };
}
