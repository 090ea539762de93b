import { type Hex, isAddressEqual, type PublicClient, parseEventLogs, type TransactionReceipt } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import { doNodesAgree, findReceipt, findRevertReason, isUndone } from '../../chains/find-receipt.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { arrivedAmount, dropArrival } from '../../custody/steps/match-arrival.ts';
import { type StepEnd, takeStep, wasRead } from '../../custody/steps/take-step.ts';
import { unexplainedCalls } from '../../custody/steps/unknown-calls.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Trade } from '../../money/market.ts';
import { keyFrozen, requireUnfrozenStep, stoppedByFreeze } from '../../policies/frozen.ts';
import { meaningOf, priceMoved, tooLate, tooMuchGas } from './explain-failure.ts';
import { failSwap } from './fail-swap.ts';
import { findSwapper, homeNetwork, type SwapParts, tokenAddress } from './parts.ts';
import { completed, type SwapOutcome, unwrapped } from './postings.ts';
import { mostSwapGas } from './quote-swap.ts';
import { swapSaga } from './saga.ts';
import { isCoin, isLate, prepareStep, type Swap, swapStep } from './swap.ts';

/** Fixed once, because the swap is requested under one key. */
type SwapPath = Pick<Trade, 'path' | 'recipient'>;

function tradeOf({ net, amountOutMin, deadline }: Swap, way: SwapPath): Trade {
  return { from: net.asset, atomic: net.atomic, atLeast: amountOutMin.atomic, deadline, ...way };
}

/**
 * After a restore from a backup this swap may already be made, on a path that was chosen after the backup. If the wallet has sent an
 * unexplained transaction that matches it, the swap is requested with the same bytes: then the provider recognises it, even after the deadline.
 */
async function recallSwap(db: Queryable, { market }: SwapParts, swap: Swap): Promise<SwapPath | undefined> {
  const { address: wallet } = await findSwapper(db, swap);
  for (const data of await unexplainedCalls(db, { chain: homeChain, wallet, contract: market.spender })) {
    const way = market.readWay(data);
    if (way !== undefined && market.trade(tradeOf(swap, way)).data.toLowerCase() === data.toLowerCase()) return way;
  }
  return undefined;
}

type Confirmed = Extract<StepEnd, { state: 'confirmed' }>;
type Failed = Extract<StepEnd, { state: 'failed' }>;

/**
 * Fixes the path and the recipient once, because the swap is requested under one key. If no path pays enough any more, nothing is sent and
 * the amount is refunded.
 */
export async function prepareSwap(parts: SwapParts, swap: Swap, end: Confirmed): Promise<void> {
  const { db, ledger } = parts;
  const { id, net, quoted } = swap;
  const recalled = await recallSwap(db, parts, swap);
  const way = recalled ?? (await choosePath(parts, swap));
  if ('failure' in way) {
    await failSwap(parts, swap, end, way.failure);
    return;
  }
  await db.transaction(async (tx) => {
    const address = recalled?.recipient ?? (await houseWallet(tx, 'treasury', homeChain)).address;
    return advanceSaga(tx, ledger, swapSaga, {
      id,
      from: 'preparing',
      to: 'swapping',
      set: { path: way.path.toLowerCase(), recipient: address.toLowerCase() },
      settle: [{ ...prepareStep(swap), end }],
      plan: [
        {
          ...swapStep(id),
          chain: homeChain,
          wallet: await findSwapper(tx, swap),
          leaves: isCoin(swap) ? [] : [{ amount: net }],
          // The bought asset, and the part of the sold one that the market does not take, usually nothing.
          arrives: [quoted, net].map(({ asset }) => ({
            chain: homeChain,
            address,
            asset,
            account: houseAccount('receivables', asset),
            knownBy: 'transaction',
          })),
        },
      ],
      post: unwrapped(swap),
    });
  });
}

export type PathChoice = { readonly path: Hex } | { readonly failure: string };

export async function choosePath({ market }: SwapParts, swap: Swap): Promise<PathChoice> {
  const { net, quoted, amountOutMin, poolGas } = swap;
  // A late swap fails even if the market does not answer.
  if (isLate(swap)) return { failure: tooLate };
  const quote = await market.quote({ from: net.asset, to: quoted.asset, atomic: net.atomic, mostGas: poolGas });
  if (quote !== undefined && quote.amountOut >= amountOutMin.atomic) return quote;
  return { failure: priceMoved };
}

/** Swapping: one transaction, which pays at least `amountOutMin` or reverts. */
export async function makeSwap(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, networks, market, provider, checkpoint = noCheckpoint } = parts;
  const { id, path, recipient } = swap;
  if (path === null || recipient === null) throw new Error(`swap ${id} does not know its way`);
  const progress = await takeStep(
    parts,
    swapStep(id),
    (wallet) => ({
      from: wallet,
      ...market.trade(tradeOf(swap, { path, recipient })),
      mostGas: mostSwapGas(swap.poolGas),
    }),
    (tx) => requireUnfrozenStep(tx, swap, { ...swapStep(id), chain: homeChain }),
  ).catch(stoppedByFreeze);
  if (progress === 'stopped') {
    await failSwap(parts, swap, 'never asked', keyFrozen);
    return 'go_on';
  }
  if (progress.state === 'waiting') return progress;
  const network = homeNetwork(networks);
  const { client, pollMs } = network;
  if (progress.state === 'failed') {
    await failByReason(parts, swap, progress);
    return 'go_on';
  }
  const receipt = await findReceipt(client, progress.hash);
  if (receipt === undefined) {
    // A reorg has undone it after the provider called it final and before it was posted.
    const step = await findStep(db, swapStep(id));
    if (step?.providerRef != null) await provider.sendAgain(homeChain, step.providerRef);
    return { lookAgainInMs: pollMs, waitsFor: 'its transaction to come back to the chain', isTrouble: true };
  }
  // After a reorg it may be in a later block than the provider knows, and may have reverted there.
  const { blockNumber, status } = receipt;
  if (!(await wasRead(db, { chain: homeChain }, blockNumber))) {
    return { lookAgainInMs: pollMs, waitsFor: `block ${blockNumber} to be read` };
  }
  if (status !== 'success') {
    const { hash, gasCost } = progress;
    if (!(await doNodesAgree(network, isUndone(hash)))) {
      return { lookAgainInMs: pollMs, waitsFor: 'a second node to confirm that it reverted', isTrouble: true };
    }
    const undone = { state: 'failed', reason: 'The contract reverted the transaction.', hash, gasCost } as const;
    await failByReason(parts, swap, undone);
    return 'go_on';
  }
  const outcome = readOutcome(parts, swap, receipt, recipient);
  // A single node could forge a receipt, so the same amount must have arrived in the books.
  if (!(await isInTheBooks(db, id, outcome))) {
    return { lookAgainInMs: pollMs, waitsFor: 'its output to be booked' };
  }
  await completeSwap(parts, swap, { ...progress, blockNumber }, outcome);
  checkpoint('swap.completed');
  return 'rest';
}

/**
 * A reverted transaction carries no reason, so the contract is asked for it. If the reason says nothing about the market, the market is
 * quoted again: the owner pays the gas only if the price has moved.
 */
async function failByReason(parts: SwapParts, swap: Swap, failed: Failed): Promise<void> {
  const { client } = homeNetwork(parts.networks);
  const found =
    failed.hash && ((await findRevertReason(client, failed.hash)) ?? (await ranOutOfGas(client, failed.hash)));
  const end = found === undefined ? failed : { ...failed, reason: found };
  const way = meaningOf(end.reason) === undefined ? await choosePath(parts, swap) : undefined;
  await failSwap(parts, swap, end, way !== undefined && 'failure' in way ? way.failure : undefined);
}

/** A contract that runs out of gas gives no reason. Its caller keeps a little gas to revert, so the limit is not used up entirely. */
async function ranOutOfGas(client: PublicClient, hash: Hex): Promise<string | undefined> {
  const [{ gasUsed }, { gas }] = await Promise.all([
    client.getTransactionReceipt({ hash }),
    client.getTransaction({ hash }),
  ]);
  return gasUsed * 10n >= gas * 9n ? tooMuchGas : undefined;
}

/** The amounts that arrived, by the Transfer logs of the tokens. */
function readOutcome(
  { networks }: SwapParts,
  { net, quoted }: Swap,
  { logs }: TransactionReceipt,
  recipient: Hex,
): SwapOutcome {
  const transfers = parseEventLogs({ abi: tokenAbi, eventName: 'Transfer', logs });
  const arrived = ({ asset }: Amount) => {
    const token = tokenAddress(networks, asset);
    const own = transfers.filter(
      ({ address, args }) => isAddressEqual(address, token) && isAddressEqual(args.to, recipient),
    );
    return amountOf(
      asset,
      own.reduce((sum, { args }) => sum + args.value, 0n),
    );
  };
  return { amountOut: arrived(quoted), unspent: arrived(net) };
}

async function isInTheBooks(db: Queryable, id: string, { amountOut, unspent }: SwapOutcome): Promise<boolean> {
  const step = await findStep(db, swapStep(id));
  if (step === undefined) throw new Error(`swap ${id} was not asked for`);
  for (const { asset, atomic } of [amountOut, unspent]) {
    if (((await arrivedAmount(db, step, asset)) ?? 0n) < atomic) return false;
  }
  return true;
}

async function completeSwap(
  { db, ledger }: SwapParts,
  swap: Swap,
  end: Confirmed,
  { amountOut, unspent }: SwapOutcome,
): Promise<void> {
  const { id } = swap;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, swapSaga, {
      id,
      from: 'swapping',
      to: 'completed',
      set: { amountOut: amountOut.atomic, unspent: unspent.atomic },
      alongside: async () => {
        if (unspent.atomic === 0n) await dropArrival(tx, { ...swapStep(id), asset: unspent.asset });
      },
      settle: [{ ...swapStep(id), end }],
      post: [completed(swap, { amountOut, unspent }, end.hash)],
    }),
  );
}
