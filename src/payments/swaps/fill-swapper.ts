import { encodeFunctionData } from 'viem';
import { allowanceAbi } from '../../chains/abi.ts';
import { encodeUnwrap } from '../../chains/wrapped-coin.ts';
import { awaitLiquidity } from '../../custody/steps/await-liquidity.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { hasUnexplained } from '../../custody/steps/unknown-calls.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { homeChain } from '../../money/catalogue.ts';
import { tooLate } from './explain-failure.ts';
import { abandonSwap, failSwap } from './give-back.ts';
import { chooseWay, prepareSwap, type SwapLook } from './make-swap.ts';
import { findSwapper, type SwapParts, tokenAddress } from './parts.ts';
import { swapSaga } from './saga.ts';
import { fillStep, isCoin, isLate, prepareStep, type Swap } from './swap.ts';

/** Queued: the treasury's tokens are waited for, first come, first served, and go to the wallet that swaps. */
export async function fillSwapper(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, networks, checkpoint = noCheckpoint } = parts;
  const { id, net } = swap;
  const wait = await awaitLiquidity(parts, fillStep(id), { chain: homeChain, asset: net.asset });
  if (wait !== undefined) {
    // After a restore from a backup it may be swapped already, with the tokens that are waited for.
    if (!isLate(swap) || (await hasUnexplained(db, { chain: homeChain }))) return wait;
    await abandonSwap(parts, swap, tooLate);
    return 'rest';
  }
  checkpoint('swap.served');
  const look = await lookAgain(parts, swap);
  if (look !== undefined && 'failure' in look) {
    await abandonSwap(parts, swap, look.failure);
    return 'rest';
  }
  const swapper = await findSwapper(db, swap);
  const progress = await takeStep(
    parts,
    fillStep(id),
    (treasury) => ({
      from: treasury,
      token: tokenAddress(networks, net.asset),
      to: swapper.address,
      atomic: net.atomic,
    }),
    // What was begun without a look at the price, or asked for again later, is not its owner's to pay for.
    async (tx) => {
      // A process that comes late must not change what was decided and posted since.
      await tx.query("UPDATE swaps SET gas_due = $2 WHERE id = $1 AND status = 'queued'", [id, look !== undefined]);
    },
  );
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failSwap(parts, swap, progress);
    return 'rest';
  }
  await beginPreparing(parts, swap, progress);
  checkpoint('swap.filled');
  return 'go_on';
}

/**
 * The price is looked at once more while nothing was sent: what does not pay enough any more costs no gas. After a restore from a backup it
 * may be filled or swapped already, and goes on without a look.
 */
async function lookAgain(parts: SwapParts, swap: Swap): Promise<SwapLook | undefined> {
  const { db } = parts;
  const step = await findStep(db, fillStep(swap.id));
  if (step?.state !== 'ready' || step.askedAt !== null) return undefined;
  if (await hasUnexplained(db, { chain: homeChain })) return undefined;
  return chooseWay(parts, swap);
}

async function beginPreparing({ db, ledger }: SwapParts, swap: Swap, end: StepEnd): Promise<void> {
  const { id, net } = swap;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE swaps SET status = 'preparing', updated_at = now() WHERE id = $1 AND status = 'queued'",
      [id],
    );
    if (rowCount === 0) return;
    await planStep(tx, {
      saga: swapSaga.name,
      ...prepareStep(swap),
      chain: homeChain,
      wallet: await findSwapper(tx, swap),
      leaves: isCoin(swap) ? [{ amount: net }] : [],
    });
    await postSurely(tx, ledger, (await settleStep(tx, fillStep(id), end)) ?? []);
  });
}

/**
 * Preparing: the router may take exactly this amount from the wallet that swaps. The allowance grows by it, and each swap uses up
 * its own: two at once do not write over each other's. The wrapped coin knows allowances only as a whole, so it is unwrapped
 * instead, and paid as native coin.
 */
export async function prepareSwapper(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { networks, market, checkpoint = noCheckpoint } = parts;
  const { net } = swap;
  const progress = await takeStep(parts, prepareStep(swap), (wallet) => ({
    from: wallet,
    contract: tokenAddress(networks, net.asset),
    data: isCoin(swap)
      ? encodeUnwrap(net.atomic)
      : encodeFunctionData({
          abi: allowanceAbi,
          functionName: 'increaseAllowance',
          args: [market.spender, net.atomic],
        }),
  }));
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failSwap(parts, swap, progress);
    return 'go_on';
  }
  await prepareSwap(parts, swap, progress);
  checkpoint('swap.prepared');
  return 'go_on';
}
