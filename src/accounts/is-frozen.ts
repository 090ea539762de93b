import type { Transaction } from '../kernel/db/database.ts';

/**
 * Whether an account is frozen. The answer holds until the commit: a freeze locks the same row, so it either waits for
 * this transaction or is seen here.
 */
export async function isFrozen(tx: Transaction, accountId: bigint): Promise<boolean> {
  const { rows } = await tx.query<{ frozen: boolean }>(
    'SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1 FOR SHARE',
    [accountId],
  );
  return rows[0]?.frozen === true;
}
