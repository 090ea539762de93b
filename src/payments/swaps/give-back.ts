import type { Hex } from 'viem';
import { uniswap } from '../../chains/uniswap.ts';
import { encodeWrapTo } from '../../chains/wrapped-coin.ts';
import { advanceSaga, type EndedStep, planRetry, type StepName } from '../../custody/steps/advance-saga.ts';
import { timesPlanned, waitToAskAnew } from '../../custody/steps/ask-anew.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import type { NewStep } from '../../custody/steps/plan-step.ts';
import { fillStep, returnTokens, stepsToReturn } from '../../custody/steps/spending-wallet.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { whatArrived } from '../../custody/steps/what-arrived.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { homeChain } from '../../money/catalogue.ts';
import { explainFailure, isByMarket } from './explain-failure.ts';
import { findSwapper, homeNetwork, type SwapParts, spendingOf } from './parts.ts';
import { refund, surplusOf, unwrapped } from './postings.ts';
import { swapSaga } from './saga.ts';
import { isCoin, prepareStep, type Swap, swapStep, wrapStep } from './swap.ts';

/**
 * Nothing was swapped: the owner has the amount back in this commit, less the gas if the market is the cause. The tokens in the wallet
 * that swaps return to the treasury later. `because` is the reason where the step itself did not fail.
 */
export async function failSwap(parts: SwapParts, swap: Swap, end: StepEnd, because?: string): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status } = swap;
  const reason = because ?? explainFailure(end.state === 'failed' ? end.reason : 'It was not swapped.');
  const next = status === 'queued' ? 'failed' : 'returning';
  // The owner pays the gas only if the market made us spend it for nothing. The house pays for delays and for other refusals.
  const gasDue = swap.gasDue && next === 'returning' && isByMarket(reason);
  const isPreparedNow = status === 'preparing' && end.state === 'confirmed';
  const isFirst = await db.transaction(async (tx) => {
    const recipient = swap.recipient ?? (await houseWallet(tx, 'treasury', homeChain)).address;
    const isPrepared = isPreparedNow || status === 'swapping';
    return advanceSaga(tx, ledger, swapSaga, {
      id,
      from: status,
      to: next,
      set: { error: reason, recipient: recipient.toLowerCase(), gasDue },
      settle: [{ ...failedStep(swap), end }],
      plan: next === 'failed' ? [] : await stepsBack(tx, parts, swap, { recipient, isPrepared }),
      post: [refund({ ...swap, status: next, gasDue }, reason), ...(isPreparedNow ? unwrapped(swap) : [])],
    });
  });
  // Another process may have decided otherwise, even that the swap succeeded.
  if (isFirst) logger.warn({ swap: id }, `a swap failed: ${end.state === 'failed' ? end.reason : reason}`);
}

/** Nothing was submitted yet: the swap leaves the line, and its owner has the whole amount back. */
export async function abandonSwap({ db, ledger, logger }: SwapParts, swap: Swap, reason: string): Promise<void> {
  const { id } = swap;
  const isFirst = await db.transaction((tx) =>
    advanceSaga(tx, ledger, swapSaga, {
      id,
      from: 'queued',
      to: 'failed',
      set: { error: reason },
      // The database refuses to drop a step that was submitted meanwhile: then all of this is rolled back.
      drop: [fillStep(id)],
      post: [refund({ ...swap, gasDue: false }, reason)],
    }),
  );
  if (isFirst) logger.warn({ swap: id }, `a swap failed before anything was sent: ${reason}`);
}

function failedStep(swap: Swap): StepName {
  if (swap.status === 'queued') return fillStep(swap.id);
  return swap.status === 'preparing' ? prepareStep(swap) : swapStep(swap.id);
}

async function stepsBack(
  db: Queryable,
  parts: SwapParts,
  swap: Swap,
  { isPrepared, recipient }: { readonly isPrepared: boolean; readonly recipient: Hex },
): Promise<NewStep[]> {
  if (isCoin(swap) && isPrepared) return [await stepToWrap(db, swap, { attempt: 1, recipient })];
  return stepsToReturn(await spendingOf(db, parts, swap), { recipient, isApproved: isPrepared });
}

async function stepToWrap(
  db: Queryable,
  swap: Swap,
  { attempt, recipient }: { readonly attempt: number; readonly recipient: Hex },
): Promise<NewStep> {
  const { asset } = swap.net;
  const account = houseAccount('unwrapped_in_transit', asset);
  return {
    saga: swapSaga.name,
    ...wrapStep(swap.id, attempt),
    chain: homeChain,
    wallet: await findSwapper(db, swap),
    arrives: [{ chain: homeChain, address: recipient, asset, account, knownBy: 'transaction' }],
  };
}

/** Returning: the owner has the amount already, and the treasury gets its tokens back. */
export async function returnToTreasury(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, ledger } = parts;
  const { id } = swap;
  const wraps = await timesPlanned(parts, { sagaId: id, name: 'wrap' });
  const back: Exclude<SagaStep, string> | Returned =
    wraps > 0 ? await wrapCoin(parts, swap, wraps) : await returnTokens(parts, await spendingOf(db, parts, swap));
  if (!('ended' in back)) return back;
  const { ended, surplus = [] } = back;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, swapSaga, { id, from: 'returning', to: 'failed', settle: ended, post: surplus }),
  );
  return 'rest';
}

interface Returned {
  readonly ended: readonly EndedStep[];
  readonly surplus?: readonly Posting[];
}

/** Native coin pays nobody and would be mistaken for gas, so a refused wrap is retried until it succeeds. */
async function wrapCoin(parts: SwapParts, swap: Swap, attempt: number): Promise<Exclude<SagaStep, string> | Returned> {
  const { db, networks } = parts;
  const { id, net, recipient } = swap;
  if (recipient === null) throw new Error(`swap ${id} does not know where it goes back to`);
  const wrap = wrapStep(id, attempt);
  const end = await takeStep(parts, wrap, (from) => ({
    from,
    contract: uniswap.router,
    data: encodeWrapTo(recipient, net.atomic),
    value: net.atomic,
  }));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await planRetry(parts, { ...wrap, end }, (tx) => stepToWrap(tx, swap, { attempt: attempt + 1, recipient }));
    return waitToAskAnew(attempt, `it to be wrapped: ${end.reason}`);
  }
  const step = await findStep(db, wrap);
  const arrived = step && (await whatArrived(db, step, net.asset));
  if (arrived === undefined) {
    return { lookAgainInMs: homeNetwork(networks).pollMs, waitsFor: 'the wrapped coin to arrive' };
  }
  return { ended: [{ ...wrap, end }], surplus: surplusOf(swap, arrived) };
}
