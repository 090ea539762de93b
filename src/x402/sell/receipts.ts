import type { Hex } from 'viem';
import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type Receipt, type X402Version } from '../wire/messages.ts';
import type { Claim } from './claim.ts';
import type { Sale, SellingParts } from './sale.ts';
import { paymentChain } from './terms.ts';

export interface Paid {
  readonly paymentId: string;
  readonly payer: Hex;
  readonly atomic: bigint;
  /** Null until settlement. */
  readonly txHash: Hex | null;
}

/** In both versions, so that any client finds it. */
export function receiptHeaders(paid: Paid): Record<string, string> {
  return {
    [headerNames[1].receipt]: encodeHeader(receiptOf(paid, 1)),
    [headerNames[2].receipt]: encodeHeader(receiptOf(paid, 2)),
  };
}

/** Until settlement the transaction is empty, and `paymentId` identifies the payment. */
function receiptOf({ paymentId, payer, atomic, txHash }: Paid, version: X402Version): Receipt & { paymentId: string } {
  return {
    success: true,
    transaction: txHash ?? '',
    network: networkName(paymentChain, version),
    payer,
    amount: atomic.toString(),
    paymentId,
  };
}

/**
 * It is not known yet whether the payment has moved. The client must not pay again: the same request with the same
 * payment is answered as soon as the outcome is known.
 */
export function pending({ publicUrl }: Pick<SellingParts, 'publicUrl'>, claim: Claim): Sale {
  const transaction = claim.pendingHash ?? '';
  const receipt = (version: 1 | 2) =>
    encodeHeader({
      success: false,
      errorReason: 'settlement_pending',
      transaction,
      network: networkName(paymentChain, version),
      payer: claim.authorization.from,
      paymentId: claim.id,
    });
  return {
    status: 202,
    body: {
      status: 'settlement_pending',
      paymentId: claim.id,
      transaction,
      statusUrl: `${publicUrl()}/api/nano/payments/${claim.id}`,
    },
    headers: {
      'Retry-After': '5',
      [headerNames[1].receipt]: receipt(1),
      [headerNames[2].receipt]: receipt(2),
    },
  };
}
