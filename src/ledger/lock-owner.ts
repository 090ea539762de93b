import type { Transaction } from '../kernel/db/database.ts';

/**
 * Waits for the postings of this owner that are under way and keeps new ones out until the commit. Revoking a key and
 * freezing an account begin with it: then every posting is either committed before, or sees the change.
 */
export async function lockOwner(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT ledger.lock_owner($1)', [accountId]);
}
