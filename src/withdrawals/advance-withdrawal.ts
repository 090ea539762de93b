import { awaitLiquidity } from '../chain-steps/await-liquidity.ts';
import { findStep } from '../chain-steps/chain-step.ts';
import { planStep } from '../chain-steps/plan-step.ts';
import { takeStep } from '../chain-steps/take-step.ts';
import { type Networks, tokenOf } from '../chains/network.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../sagas/run-saga.ts';
import type { WalletProvider } from '../wallets/provider.ts';
import { completeWithdrawal, failWithdrawal } from './finish-withdrawal.ts';
import { holdWithdrawal } from './hold-withdrawal.ts';
import { withdrawalSaga } from './saga.ts';
import type { Screening } from './screening.ts';
import { findWithdrawal, payStep, type Withdrawal } from './withdrawal.ts';

export interface WithdrawalSagaParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly screening: Screening;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
  /** See serveLiquidity. */
  readonly passAfterMs?: number;
}

export function withdrawalHandler(parts: WithdrawalSagaParts): SagaHandler {
  return handleSaga(withdrawalSaga, (id) => findWithdrawal(parts.db, id), {
    queued: (withdrawal) => screen(parts, withdrawal),
    awaiting_liquidity: (withdrawal) => reserve(parts, withdrawal),
    sending: (withdrawal) => send(parts, withdrawal),
  });
}

async function screen(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  if (await isHeldByScreening(parts, withdrawal)) return 'rest';
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE withdrawals SET status = 'awaiting_liquidity', updated_at = now() WHERE id = $1 AND status = 'queued'",
      [withdrawal.id],
    );
    if (rowCount === 1) await planPayment(tx, withdrawal);
  });
  checkpoint('withdrawal.screened');
  return 'go_on';
}

/** In line for the treasury's tokens from now on. */
async function planPayment(tx: Transaction, { id, chain, address, net }: Withdrawal): Promise<void> {
  const leaves = [{ amount: net, recipient: address }];
  await planStep(tx, { saga: withdrawalSaga.name, ...payStep(id), chain, leaves });
}

async function isHeldByScreening(
  { db, screening, logger }: WithdrawalSagaParts,
  withdrawal: Withdrawal,
): Promise<boolean> {
  const { id, chain, address, released } = withdrawal;
  const verdict = released ? { clear: true as const } : await screening.check({ chain, address });
  if (verdict.clear) return false;
  await holdWithdrawal(db, withdrawal, { reason: verdict.reason, freeze: true });
  logger.error({ withdrawal: id }, `a withdrawal is held and its account frozen: ${verdict.reason}`);
  return true;
}

/** It may have waited here for long, so the screening is asked once more. */
async function reserve(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const { id, chain, net } = withdrawal;
  if (await isHeldByScreening(parts, withdrawal)) return 'rest';
  if ((await findStep(db, payStep(id))) === undefined) {
    // What was held and let go again stands at the end of the line.
    await db.transaction((tx) => planIfWaiting(tx, withdrawal));
  }
  const wait = await awaitLiquidity(parts, payStep(id), { chain, asset: net.asset });
  if (wait !== undefined) return wait;
  checkpoint('withdrawal.served');
  if ((await beginSending(db, withdrawal)) === 'frozen') {
    await holdWithdrawal(db, withdrawal, { reason: 'the account is frozen', freeze: false });
    return 'rest';
  }
  checkpoint('withdrawal.reserved');
  return 'go_on';
}

async function planIfWaiting(tx: Transaction, withdrawal: Withdrawal): Promise<void> {
  const { rows } = await tx.query(
    "SELECT FROM withdrawals WHERE id = $1 AND status = 'awaiting_liquidity' FOR UPDATE",
    [withdrawal.id],
  );
  if (rows.length > 0) await planPayment(tx, withdrawal);
}

/** From here on nobody but the chain or the provider stops it. */
async function beginSending(db: Database, { id, accountId, released }: Withdrawal): Promise<'sending' | 'frozen'> {
  return db.transaction(async (tx) => {
    await tx.query('SELECT FROM withdrawals WHERE id = $1 FOR UPDATE', [id]);
    if (accountId !== null && !released) {
      const { rows } = await tx.query('SELECT FROM accounts WHERE id = $1 AND frozen_at IS NOT NULL', [accountId]);
      if (rows.length > 0) return 'frozen';
    }
    await tx.query(
      // It may have been held and let go meanwhile: then its step is another one, and waits in line.
      `UPDATE withdrawals SET status = 'sending', updated_at = now() WHERE id = $1 AND status = 'awaiting_liquidity'
          AND EXISTS (SELECT FROM chain_steps WHERE saga_id = $1 AND step = 'pay' AND state = 'ready')`,
      [id],
    );
    return 'sending';
  });
}

async function send(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { networks, logger, checkpoint = noCheckpoint } = parts;
  const { id, chain, address, net } = withdrawal;
  const progress = await takeStep(parts, payStep(id), (from) => {
    const network = networks.get(chain);
    const token = network && tokenOf(network, net.asset);
    if (token === undefined) throw new Error(`withdrawal ${id} has no token to pay with`);
    return { from, token: token.address, to: address, atomic: net.atomic };
  });
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'confirmed') {
    await completeWithdrawal(parts, withdrawal, progress);
    checkpoint('withdrawal.completed');
  } else {
    await failWithdrawal(parts, withdrawal, progress);
    logger.warn({ withdrawal: id }, `a withdrawal failed: ${progress.reason}`);
  }
  return 'rest';
}
