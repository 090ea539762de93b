import type { Transaction } from '../kernel/db/database.ts';

/**
 * Says which events of an account are recorded from this commit on: these and no others. Whoever calls it holds the
 * account's row, so that two changes at once do not undo each other.
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
