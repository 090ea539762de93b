import { announceAccountChange } from '../accounts/account-changes.ts';
import { dropStep } from '../chain-steps/plan-step.ts';
import type { Database } from '../db/database.ts';
import { lockOwner } from '../ledger/lock-owner.ts';
import { firstStep, type Withdrawal } from './withdrawal.ts';

/** What its owner is told; the reason is the operator's. */
const underReview = 'It is under review. Ask the operator.';

/** SQL: native coin lies in the treasury for a withdrawal, which left it wrapped. */
export const isUnwrapped = `EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = 'unwrap' AND s.state = 'confirmed')`;

/** SQL: it has gone on, but nobody was asked for the step yet that comes next. */
const isUnasked = `status IN ('unwrapping', 'sending') AND EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = CASE status WHEN 'sending' THEN 'pay' ELSE 'unwrap' END AND s.state = 'ready')`;

/**
 * Stops a withdrawal until a person decides. After a hit of the screening its account can send nothing more either. False when the
 * provider was asked for it already: it may be on its way.
 */
export async function holdWithdrawal(
  db: Database,
  withdrawal: Withdrawal,
  { reason, freeze }: { readonly reason: string; readonly freeze: boolean },
): Promise<boolean> {
  const { id, accountId } = withdrawal;
  return db.transaction(async (tx) => {
    // The withdrawal before its owner, as whoever finishes one does.
    const { rows } = await tx.query<{ unwrapped: boolean }>(
      `UPDATE withdrawals SET status = 'held', error = $2, held_because = $3, updated_at = now()
        WHERE id = $1 AND (status IN ('queued', 'awaiting_liquidity', 'unwrapped') OR ${isUnasked})
        RETURNING ${isUnwrapped} AS unwrapped`,
      [id, underReview, reason],
    );
    const [held] = rows;
    if (held === undefined) return false;
    // It leaves the line for the treasury's tokens, and gives back what was set aside for it. What was unwrapped stays where it is.
    if (!held.unwrapped) await dropStep(tx, firstStep(withdrawal));
    if (!freeze || accountId === null) return true;
    await lockOwner(tx, accountId);
    await tx.query('UPDATE accounts SET frozen_at = coalesce(frozen_at, now()) WHERE id = $1', [accountId]);
    await announceAccountChange(tx, accountId);
    return true;
  });
}
