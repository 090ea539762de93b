import { encodeFunctionData } from 'viem';
import { allowanceAbi } from '../../chains/abi.ts';
import { cctp } from '../../chains/cctp.ts';
import { awaitLiquidity } from '../../custody/steps/await-liquidity.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { chains } from '../../money/catalogue.ts';
import { approveStep, type Bridge, fillStep } from './bridge.ts';
import { prepareBurn } from './burn.ts';
import { findBurner } from './burner.ts';
import { failBridge } from './give-back.ts';
import type { BridgeParts } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** Pending: the treasury's tokens are waited for, first come, first served, and go to the wallet that burns. */
export async function fillBurner(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const { id, from, amount } = bridge;
  const wait = await awaitLiquidity(parts, fillStep(id), { chain: from, asset: amount.asset });
  if (wait !== undefined) return wait;
  checkpoint('bridge.served');
  const burner = await findBurner(db, bridge);
  const progress = await takeStep(parts, fillStep(id), (treasury) => ({
    from: treasury,
    token: chains[from].tokens.USDC,
    to: burner.address,
    atomic: amount.atomic,
  }));
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failBridge(parts, bridge, progress);
    return 'rest';
  }
  await beginApproving(parts, bridge, progress);
  checkpoint('bridge.filled');
  return 'go_on';
}

async function beginApproving({ db, ledger }: BridgeParts, bridge: Bridge, end: StepEnd): Promise<void> {
  const { id, from } = bridge;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE bridges SET status = 'approving', updated_at = now() WHERE id = $1 AND status = 'pending'",
      [id],
    );
    if (rowCount === 0) return;
    const wallet = await findBurner(tx, bridge);
    await planStep(tx, { saga: bridgeSaga.name, ...approveStep(id), chain: from, wallet });
    await postSurely(tx, ledger, (await settleStep(tx, fillStep(id), end)) ?? []);
  });
}

/**
 * Approving: the protocol may take exactly this amount from the wallet that burns. The allowance grows by it, and each burn
 * uses up its own: two at once do not write over each other's.
 */
export async function approveBurn(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { checkpoint = noCheckpoint } = parts;
  const { id, from, amount } = bridge;
  const progress = await takeStep(parts, approveStep(id), (wallet) => ({
    from: wallet,
    contract: chains[from].tokens.USDC,
    data: encodeFunctionData({
      abi: allowanceAbi,
      functionName: 'increaseAllowance',
      args: [cctp.tokenMessenger, amount.atomic],
    }),
  }));
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failBridge(parts, bridge, progress);
    return 'go_on';
  }
  await prepareBurn(parts, bridge, progress);
  checkpoint('bridge.approved');
  return 'go_on';
}
