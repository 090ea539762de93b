import { findStep } from '../../custody/steps/chain-step.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { awaitLiquidity } from '../../custody/steps/serve-liquidity.ts';
import { takeStep } from '../../custody/steps/take-step.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { isStopped } from '../../policies/frozen.ts';
import { completeWithdrawal, failWithdrawal } from './finish-withdrawal.ts';
import { advanceUnlessHeld, holdIfFrozen, isHeldByScreening, requireNotFrozen } from './hold-withdrawal.ts';
import { findRecipientFault, mostGas, tokenToPay } from './native-coin.ts';
import { withdrawalSaga } from './saga.ts';
import { stopWithdrawal } from './stop-withdrawal.ts';
import { beginWrapping, lookOnceMore, unwrap, wrapAgain } from './unwrap.ts';
import {
  findWithdrawal,
  firstStep,
  isNative,
  payStep,
  stepWallet,
  type Withdrawal,
  type WithdrawalSagaParts,
} from './withdrawal.ts';

export function withdrawalHandler(parts: WithdrawalSagaParts): SagaHandler {
  return handleSaga(withdrawalSaga, (id) => findWithdrawal(parts.db, id), {
    queued: (withdrawal) => screen(parts, withdrawal),
    awaiting_liquidity: (withdrawal) => reserve(parts, withdrawal),
    unwrapping: (withdrawal) => unwrap(parts, withdrawal),
    unwrapped: (withdrawal) => lookOnceMore(parts, withdrawal),
    sending: (withdrawal) => send(parts, withdrawal),
    wrapping: (withdrawal) => wrapAgain(parts, withdrawal),
  });
}

async function screen(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  if (await isHeldByScreening(parts, withdrawal)) return 'rest';
  await db.transaction(async (tx) => {
    const change = { id: withdrawal.id, from: 'queued', to: 'awaiting_liquidity' } as const;
    if (await changeState(tx, withdrawalSaga, change)) await planFirst(tx, withdrawal);
  });
  checkpoint('withdrawal.screened');
  return 'go_on';
}

/** From here on the withdrawal waits in line for the treasury's tokens. A native payment has no token recipient. */
async function planFirst(tx: Transaction, withdrawal: Withdrawal): Promise<void> {
  const { chain, address, net } = withdrawal;
  const leaves = [{ amount: net, ...(!isNative(withdrawal) && { recipient: address }) }];
  await planStep(tx, { saga: withdrawalSaga.name, ...firstStep(withdrawal), chain, leaves });
}

/** It may have waited here for long, so it is screened again. */
async function reserve(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const { chain, net } = withdrawal;
  const first = firstStep(withdrawal);
  if (await isHeldByScreening(parts, withdrawal)) return 'rest';
  if (await isStopped(db, withdrawal, withdrawal)) return stopWithdrawal(parts, withdrawal);
  if ((await findStep(db, first)) === undefined) {
    // A withdrawal that was held and released goes to the end of the line.
    await db.transaction((tx) => planIfWaiting(tx, withdrawal));
  }
  const wait = await awaitLiquidity(parts, first, { chain, asset: net.asset });
  if (wait !== undefined) return wait;
  checkpoint('withdrawal.served');
  if (await isGivenBack(parts, withdrawal)) return 'rest';
  const to = isNative(withdrawal) ? 'unwrapping' : 'sending';
  if (!(await advanceUnlessHeld(parts, withdrawal, { to, step: first.step }))) return 'rest';
  checkpoint('withdrawal.reserved');
  return 'go_on';
}

async function planIfWaiting(tx: Transaction, withdrawal: Withdrawal): Promise<void> {
  const { rows } = await tx.query(
    "SELECT FROM withdrawals WHERE id = $1 AND status = 'awaiting_liquidity' FOR UPDATE",
    [withdrawal.id],
  );
  if (rows.length > 0) await planFirst(tx, withdrawal);
}

/** A recipient that refuses native coin is detected before unwrapping: everything is refunded, and no gas was spent. */
async function isGivenBack(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<boolean> {
  if (!isNative(withdrawal)) return false;
  const { db, networks } = parts;
  const { address: sender } = await stepWallet(db, firstStep(withdrawal));
  const reason = await findRecipientFault(db, networks, withdrawal, sender);
  if (reason === undefined) return false;
  await failWithdrawal(parts, withdrawal, { state: 'failed', reason, gasCost: 0n });
  parts.logger.warn({ withdrawal: withdrawal.id }, `a withdrawal failed: ${reason}`);
  return true;
}

async function send(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, networks, logger, checkpoint = noCheckpoint } = parts;
  const { id, address, net } = withdrawal;
  const progress = await takeStep(
    parts,
    payStep(id),
    (from) =>
      isNative(withdrawal)
        ? { from, contract: address, data: '0x', value: net.atomic, mostGas }
        : { from, token: tokenToPay(networks, withdrawal), to: address, atomic: net.atomic },
    (tx) => requireNotFrozen(tx, withdrawal),
  ).catch((error: unknown) => holdIfFrozen(db, withdrawal, error));
  if (progress === 'held') return 'rest';
  if (progress === 'stopped') return stopWithdrawal(parts, withdrawal);
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'confirmed') {
    await completeWithdrawal(parts, withdrawal, progress);
    checkpoint('withdrawal.completed');
    return 'rest';
  }
  logger.warn({ withdrawal: id }, `a withdrawal failed: ${progress.reason}`);
  if (isNative(withdrawal)) {
    await beginWrapping(parts, withdrawal, progress);
    return 'go_on';
  }
  await failWithdrawal(parts, withdrawal, progress);
  return 'rest';
}
