import { announceAccountChange } from '../../accounts/account-changes.ts';
import { recordAudit } from '../../accounts/audit/record.ts';
import { dropStep } from '../../custody/steps/plan-step.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { lockOwner } from '../../ledger/lock-owner.ts';
import { firstStep, type Holder, type Withdrawal } from './withdrawal.ts';

/** What the owner sees. Only the operator sees the reason. */
const toldOf: Readonly<Record<Holder, string>> = {
  screening: 'The operator is reviewing this withdrawal. Contact the operator.',
  freeze: 'The operator is reviewing this withdrawal. Contact the operator.',
  hourly_limit:
    'The service-wide hourly limit on outgoing payments is reached, so the operator has to release this withdrawal. You can cancel it.',
};

/** SQL: the withdrawal's native coin is unwrapped and in the treasury. */
export const isUnwrapped = `EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = 'unwrap' AND s.state = 'confirmed')`;

/** SQL: the withdrawal has moved on, but the provider was not asked for its step yet. */
const isUnasked = `status IN ('unwrapping', 'sending') AND EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = CASE status WHEN 'sending' THEN 'pay' ELSE 'unwrap' END AND s.state = 'ready')`;

interface Hold {
  /** For the operator. */
  readonly reason: string;
  /** Freeze the account too. */
  readonly freeze: boolean;
  readonly by?: Holder;
}

interface Held {
  /** No other withdrawal was held for the same reason within the last hour. Older ones that still wait do not count. */
  readonly isFirst: boolean;
}

/** Holds until the operator decides. False when the provider was already asked, or it was cancelled. */
export async function holdWithdrawal(db: Database, withdrawal: Withdrawal, hold: Hold): Promise<boolean> {
  return db.transaction(async (tx) => (await holdWithin(tx, withdrawal, hold)) !== undefined);
}

/** Runs inside the caller's transaction. Undefined when it can no longer be held. */
export async function holdWithin(tx: Transaction, withdrawal: Withdrawal, hold: Hold): Promise<Held | undefined> {
  const { id, accountId } = withdrawal;
  const { reason, freeze, by = freeze ? 'screening' : 'freeze' } = hold;
  // Lock order: the withdrawal, then its owner, as when one is finished.
  const { rows } = await tx.query<{ unwrapped: boolean }>(
    `UPDATE withdrawals SET status = 'held', error = $2, held_because = $3, held_by = $4, let_go_at = NULL, updated_at = now()
      WHERE id = $1 AND (status IN ('queued', 'awaiting_liquidity', 'unwrapped') OR ${isUnasked})
      RETURNING ${isUnwrapped} AS unwrapped`,
    [id, toldOf[by], reason, by],
  );
  const [held] = rows;
  if (held === undefined) return undefined;
  // Dropping the step leaves the queue and frees the reserved tokens. Native coin that is already unwrapped stays in
  // the treasury.
  if (!held.unwrapped) await dropStep(tx, firstStep(withdrawal));
  if (freeze && accountId !== null) {
    await lockOwner(tx, accountId);
    const { rowCount } = await tx.query('UPDATE accounts SET frozen_at = now() WHERE id = $1 AND frozen_at IS NULL', [
      accountId,
    ]);
    if (rowCount === 1) await recordAudit(tx, { accountId, action: 'account.frozen', by: {}, note: reason });
    await announceAccountChange(tx, accountId);
  }
  await recordAudit(tx, {
    accountId,
    action: 'withdrawal.held',
    by: {},
    details: { withdrawalId: id, ...(by === 'hourly_limit' && { because: 'hourly_limit' }) },
    note: reason,
  });
  const { first } = onlyRow(
    await tx.query<{ first: boolean }>(
      `SELECT NOT EXISTS (
         SELECT FROM withdrawals WHERE finished_at IS NULL AND status = 'held' AND held_by = $2 AND id <> $1
            AND status_since > clock_timestamp() - interval '1 hour') AS first`,
      [id, by],
    ),
  );
  return { isFirst: first };
}
