import type { Transaction } from '../kernel/db/database.ts';

/**
 * Waits for this owner's postings in progress and keeps out new ones until the commit. Revoking a key and freezing an
 * account begin with it, so every posting is either committed before or sees the change.
 */
export async function lockOwner(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT ledger.lock_owner($1)', [accountId]);
}
