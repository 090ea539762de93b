import type { Transaction } from '../../kernel/db/database.ts';

/**
 * Counts a change of an account's policies or frozen keys, in the transaction of the change, which began with `lockOwner`.
 * Postings that were judged before the change have an older stamp, so the ledger refuses them and they are judged again.
 * Run the transaction with `changes.everywhere`, because instances cache the stamp with the key.
 */
export async function raiseStamp(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query(
    `INSERT INTO key_stamps (account_id, stamp) VALUES ($1, 1)
     ON CONFLICT (account_id) DO UPDATE SET stamp = key_stamps.stamp + 1`,
    [accountId],
  );
}

/** The same for a change that an account without policies does not count. */
export async function renewStamp(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('UPDATE key_stamps SET stamp = stamp + 1 WHERE account_id = $1', [accountId]);
}
