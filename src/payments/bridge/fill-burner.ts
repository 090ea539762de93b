import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { awaitLiquidity } from '../../custody/steps/await-liquidity.ts';
import { approveSpender, approveStep, fillStep, fillWallet } from '../../custody/steps/spending-wallet.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import type { Bridge } from './bridge.ts';
import { prepareBurn } from './burn.ts';
import { findBurner, spendingOf } from './burner.ts';
import { failBridge } from './give-back.ts';
import type { BridgeParts } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** Pending: the transfer waits in line for the treasury's tokens, which then go to the wallet that burns. */
export async function fillBurner(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const { id, from, amount } = bridge;
  const wait = await awaitLiquidity(parts, fillStep(id), { chain: from, asset: amount.asset });
  if (wait !== undefined) return wait;
  checkpoint('bridge.served');
  const end = await fillWallet(parts, await spendingOf(db, bridge));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failBridge(parts, bridge, end);
    return 'rest';
  }
  await db.transaction(async (tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'pending',
      to: 'approving',
      settle: [{ ...fillStep(id), end }],
      plan: [{ ...approveStep(id), chain: from, wallet: await findBurner(tx, bridge) }],
    }),
  );
  checkpoint('bridge.filled');
  return 'go_on';
}

/** Approving: the protocol may take exactly this amount from the wallet that burns. */
export async function approveBurn(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const end = await approveSpender(parts, await spendingOf(db, bridge));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await failBridge(parts, bridge, end);
    return 'go_on';
  }
  await prepareBurn(parts, bridge, end);
  checkpoint('bridge.approved');
  return 'go_on';
}
