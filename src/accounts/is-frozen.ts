import type { Transaction } from '../kernel/db/database.ts';

/**
 * Whether an account may send nothing. The answer holds until the commit: a freeze takes the same row, so it waits for whatever
 * was begun on this answer, or is seen here. Once a freeze was answered, nobody goes on with what he read before it.
 */
export async function isFrozen(tx: Transaction, accountId: bigint): Promise<boolean> {
  const { rows } = await tx.query<{ frozen: boolean }>(
    'SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1 FOR SHARE',
    [accountId],
  );
  return rows[0]?.frozen === true;
}
