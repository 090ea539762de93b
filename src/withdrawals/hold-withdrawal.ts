import { announceAccountChange } from '../accounts/account-changes.ts';
import { dropStep } from '../chain-steps/plan-step.ts';
import type { Database } from '../db/database.ts';
import { lockOwner } from '../ledger/lock-owner.ts';
import { payStep, type Withdrawal } from './withdrawal.ts';

/** What its owner is told; the reason is the operator's. */
const underReview = 'It is under review. Ask the operator.';

/** Stops a withdrawal until a person decides. After a hit of the screening its account can send nothing more either. */
export async function holdWithdrawal(
  db: Database,
  { id, accountId }: Withdrawal,
  { reason, freeze }: { readonly reason: string; readonly freeze: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    // The withdrawal before its owner, as whoever finishes one does.
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'held', error = $2, held_because = $3, updated_at = now()
        WHERE id = $1 AND status IN ('queued', 'awaiting_liquidity')`,
      [id, underReview, reason],
    );
    if (rowCount === 0) return;
    // It leaves the line for the treasury's tokens, and gives back what was set aside for it.
    await dropStep(tx, payStep(id));
    if (!freeze || accountId === null) return;
    await lockOwner(tx, accountId);
    await tx.query('UPDATE accounts SET frozen_at = coalesce(frozen_at, now()) WHERE id = $1', [accountId]);
    await announceAccountChange(tx, accountId);
  });
}
