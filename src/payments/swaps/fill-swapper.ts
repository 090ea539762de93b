import { encodeUnwrap } from '../../chains/wrapped-coin.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { awaitLiquidity } from '../../custody/steps/serve-liquidity.ts';
import { approveSpender, fillStep, fillWallet } from '../../custody/steps/spending-wallet.ts';
import { takeStep } from '../../custody/steps/take-step.ts';
import { hasUnexplainedTransactions } from '../../custody/steps/unknown-calls.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { homeChain } from '../../money/catalogue.ts';
import { isStopped, keyFrozen, requireUnfrozenStep, stoppedByFreeze } from '../../policies/frozen.ts';
import { tooLate } from './explain-failure.ts';
import { abandonSwap, failSwap } from './fail-swap.ts';
import { choosePath, type PathChoice, prepareSwap } from './make-swap.ts';
import { findSwapper, type SwapParts, spendingOf } from './parts.ts';
import { swapSaga } from './saga.ts';
import { isCoin, isLate, prepareStep, type Swap } from './swap.ts';

/** Queued: the swap waits in line for the treasury's tokens, which then go to the wallet that swaps. */
export async function fillSwapper(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const { id, net } = swap;
  const wait = await awaitLiquidity(parts, fillStep(id), { chain: homeChain, asset: net.asset });
  if (wait !== undefined) {
    // After a restore from a backup it may be swapped already, with the tokens it waits for.
    if (await isStopped(db, swap, { chain: homeChain })) {
      await abandonSwap(parts, swap, keyFrozen);
      return 'rest';
    }
    if (!isLate(swap) || (await hasUnexplainedTransactions(db, { chain: homeChain }))) return wait;
    await abandonSwap(parts, swap, tooLate);
    return 'rest';
  }
  checkpoint('swap.served');
  const look = await lookAgain(parts, swap);
  if (look !== undefined && 'failure' in look) {
    await abandonSwap(parts, swap, look.failure);
    return 'rest';
  }
  const end = await fillWallet(parts, await spendingOf(db, parts, swap), async (tx) => {
    await requireUnfrozenStep(tx, swap, { ...fillStep(id), chain: homeChain });
    // The owner pays for gas only if the price was checked just before this request. A process that comes late must not change what
    // was decided and posted since.
    await tx.query("UPDATE swaps SET gas_due = $2 WHERE id = $1 AND status = 'queued'", [id, look !== undefined]);
  }).catch(stoppedByFreeze);
  if (end === 'stopped') {
    await abandonSwap(parts, swap, keyFrozen);
    return 'rest';
  }
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failSwap(parts, swap, end);
    return 'rest';
  }
  await db.transaction(async (tx) =>
    advanceSaga(tx, ledger, swapSaga, {
      id,
      from: 'queued',
      to: 'preparing',
      settle: [{ ...fillStep(id), end }],
      plan: [
        {
          ...prepareStep(swap),
          chain: homeChain,
          wallet: await findSwapper(tx, swap),
          leaves: isCoin(swap) ? [{ amount: net }] : [],
        },
      ],
    }),
  );
  checkpoint('swap.filled');
  return 'go_on';
}

/**
 * Checks the price again before anything is sent, so that a swap that no longer pays enough costs no gas. After a restore from a backup it
 * may be filled or swapped already, so it continues without a check.
 */
async function lookAgain(parts: SwapParts, swap: Swap): Promise<PathChoice | undefined> {
  const { db } = parts;
  const step = await findStep(db, fillStep(swap.id));
  if (step?.state !== 'ready' || step.askedAt !== null) return undefined;
  if (await hasUnexplainedTransactions(db, { chain: homeChain })) return undefined;
  return choosePath(parts, swap);
}

/**
 * Preparing: the router may take exactly this amount from the wallet that swaps. The wrapped coin can only set an allowance as a whole,
 * which two swaps at once would overwrite, so it is unwrapped instead and paid as native coin.
 */
export async function prepareSwapper(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const spending = await spendingOf(db, parts, swap);
  const end = isCoin(swap)
    ? await takeStep(parts, prepareStep(swap), (from) => ({
        from,
        contract: spending.token,
        data: encodeUnwrap(swap.net.atomic),
      }))
    : await approveSpender(parts, spending);
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failSwap(parts, swap, end);
    return 'go_on';
  }
  await prepareSwap(parts, swap, end);
  checkpoint('swap.prepared');
  return 'go_on';
}
