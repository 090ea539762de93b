import type { Hex } from 'viem';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep, type StepName } from '../../custody/steps/chain-step.ts';
import type { NewStep } from '../../custody/steps/plan-step.ts';
import { fillStep, returnTokens, stepsToReturn } from '../../custody/steps/spending-wallet.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { stepToWrap, type Wrapping, wrapCoin, wrapStep } from '../../custody/steps/wrap-coin.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { homeChain } from '../../money/catalogue.ts';
import { keyFrozen } from '../../policies/frozen.ts';
import { explainFailure, isByMarket } from './explain-failure.ts';
import { findSwapper, type SwapParts, spendingOf } from './parts.ts';
import { refund, unwrapped } from './postings.ts';
import { swapSaga } from './saga.ts';
import { isCoin, prepareStep, type Swap, swapStep } from './swap.ts';

/**
 * Nothing was swapped: the owner has the amount back in this commit, less the gas if the market or a frozen key is the cause. The tokens in the wallet
 * that swaps return to the treasury later. `because` is the reason where the step itself did not fail.
 */
export async function failSwap(
  parts: SwapParts,
  swap: Swap,
  end: StepEnd | 'never asked',
  because?: string,
): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status } = swap;
  const wasAsked = end !== 'never asked';
  const fault = wasAsked && end.state === 'failed' ? end.reason : undefined;
  const reason = because ?? explainFailure(fault ?? 'The swap was not made.');
  const next = status === 'queued' ? 'failed' : 'returning';
  // The owner pays the gas if the market or the freezing of the key made us spend it for nothing. The house pays for delays and for
  // other refusals.
  const isOurs = !isByMarket(reason) && because !== keyFrozen;
  const gasDue = swap.gasDue && next === 'returning' && !isOurs;
  const isPreparedNow = status === 'preparing' && wasAsked && end.state === 'confirmed';
  const isFirst = await db.transaction(async (tx) => {
    const recipient = swap.recipient ?? (await houseWallet(tx, 'treasury', homeChain)).address;
    const isPrepared = isPreparedNow || status === 'swapping';
    return advanceSaga(tx, ledger, swapSaga, {
      id,
      from: status,
      to: next,
      set: { error: reason, recipient: recipient.toLowerCase(), gasDue },
      ...(wasAsked ? { settle: [{ ...failedStep(swap), end }] } : { drop: [failedStep(swap)] }),
      plan: next === 'failed' ? [] : await stepsBack(tx, parts, swap, { recipient, isPrepared }),
      post: [refund({ ...swap, status: next, gasDue }, reason), ...(isPreparedNow ? unwrapped(swap) : [])],
    });
  });
  // Another process may have decided otherwise, even that the swap succeeded.
  if (isFirst) logger.warn({ swap: id }, `a swap failed: ${fault ?? reason}`);
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
  if (isCoin(swap) && isPrepared) return [stepToWrap(await wrappingOf(db, swap, recipient))];
  return stepsToReturn(await spendingOf(db, parts, swap), { recipient, isApproved: isPrepared });
}

async function wrappingOf(db: Queryable, swap: Swap, recipient: Hex): Promise<Wrapping> {
  const { id, net: amount } = swap;
  const wallet = await findSwapper(db, swap);
  return { saga: swapSaga.name, sagaId: id, chain: homeChain, wallet, amount, recipient };
}

/** Returning: the owner has the amount already, and the treasury gets its tokens back. */
export async function returnToTreasury(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, ledger } = parts;
  const { id, recipient } = swap;
  if (recipient === null) throw new Error(`swap ${id} does not know where it goes back to`);
  const isUnwrapped = (await findStep(db, wrapStep(id))) !== undefined;
  const back = isUnwrapped
    ? await wrapCoin(parts, await wrappingOf(db, swap, recipient))
    : await returnTokens(parts, await spendingOf(db, parts, swap));
  if (!('ended' in back)) return back;
  const { ended, surplus } = { surplus: [], ...back };
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, swapSaga, { id, from: 'returning', to: 'failed', settle: ended, post: surplus }),
  );
  return 'rest';
}
