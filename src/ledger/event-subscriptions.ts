import type { Transaction } from '../kernel/db/database.ts';

/**
 * Replaces the set of events that are recorded for an account, from this commit on. The caller holds the account's row
 * lock, so that concurrent changes do not overwrite each other.
 */
export async function setSubscriptions(tx: Transaction, accountId: bigint, types: readonly string[]): Promise<void> {
  await tx.query('DELETE FROM ledger.event_subscriptions WHERE account_id = $1 AND type <> ALL ($2)', [
    accountId,
    types,
  ]);
  await tx.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
    [accountId, types],
  );
}
