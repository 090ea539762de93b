import { announceAccountChange } from '../../accounts/account-changes.ts';
import { recordAudit } from '../../accounts/audit/record.ts';
import { dropStep } from '../../custody/steps/plan-step.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { lockOwner } from '../../ledger/lock-owner.ts';
import { firstStep, type Holder, type Withdrawal } from './withdrawal.ts';

/** What its owner is told; the reason is the operator's. */
const toldOf: Readonly<Record<Holder, string>> = {
  screening: 'The operator is reviewing this withdrawal. Contact the operator.',
  freeze: 'The operator is reviewing this withdrawal. Contact the operator.',
  hourly_limit:
    'The service-wide hourly limit on outgoing payments is reached, so the operator has to release this withdrawal. You can cancel it.',
};

/** SQL: native coin lies in the treasury for a withdrawal, which left it wrapped. */
export const isUnwrapped = `EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = 'unwrap' AND s.state = 'confirmed')`;

/** SQL: it has gone on, but nobody was asked for the step yet that comes next. */
const isUnasked = `status IN ('unwrapping', 'sending') AND EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = CASE status WHEN 'sending' THEN 'pay' ELSE 'unwrap' END AND s.state = 'ready')`;

interface Hold {
  /** In words for the operator. */
  readonly reason: string;
  /** Its account can send nothing more either. */
  readonly freeze: boolean;
  readonly by?: Holder;
}

/** It is held now. */
interface Held {
  /** Nothing else that waits was held by the same within an hour: what a person has left there for longer says nothing of today. */
  readonly isFirst: boolean;
}

/**
 * Stops a withdrawal until a person decides. After a hit of the screening its account can send nothing more either. False when the
 * provider was asked for it already: it may be on its way. Or it was cancelled.
 */
export async function holdWithdrawal(db: Database, withdrawal: Withdrawal, hold: Hold): Promise<boolean> {
  return db.transaction(async (tx) => (await holdWithin(tx, withdrawal, hold)) !== undefined);
}

/** Part of the caller's commit. Undefined when there is nothing left to hold. */
export async function holdWithin(tx: Transaction, withdrawal: Withdrawal, hold: Hold): Promise<Held | undefined> {
  const { id, accountId } = withdrawal;
  const { reason, freeze, by = freeze ? 'screening' : 'freeze' } = hold;
  // The withdrawal before its owner, as whoever finishes one does.
  const { rows } = await tx.query<{ unwrapped: boolean }>(
    `UPDATE withdrawals SET status = 'held', error = $2, held_because = $3, held_by = $4, let_go_at = NULL, updated_at = now()
      WHERE id = $1 AND (status IN ('queued', 'awaiting_liquidity', 'unwrapped') OR ${isUnasked})
      RETURNING ${isUnwrapped} AS unwrapped`,
    [id, toldOf[by], reason, by],
  );
  const [held] = rows;
  if (held === undefined) return undefined;
  // It leaves the line for the treasury's tokens, and gives back what was set aside for it. What was unwrapped stays where it is.
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
