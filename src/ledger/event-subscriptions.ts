import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';

/** A type of event, and how many webhooks receive it. */
export interface Subscription {
  readonly type: string;
  readonly listeners: number;
}

/**
 * Says which events of an account are recorded from this commit on: these and no others. Whoever calls it holds the
 * account's row, so that two changes at once do not undo each other.
 */
export async function setSubscriptions(
  tx: Transaction,
  accountId: bigint,
  subscriptions: readonly Subscription[],
): Promise<void> {
  const types = subscriptions.map(({ type }) => type);
  await tx.query('DELETE FROM ledger.event_subscriptions WHERE account_id = $1 AND type <> ALL ($2)', [
    accountId,
    types,
  ]);
  await tx.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type, listeners)
     SELECT $1, * FROM unnest($2::text[], $3::integer[])
     ON CONFLICT (account_id, type) DO UPDATE SET listeners = EXCLUDED.listeners`,
    [accountId, types, subscriptions.map(({ listeners }) => listeners)],
  );
}

/** How many deliveries these events of these accounts would be, one of each type. */
export async function countListeners(
  db: Queryable,
  { accountIds, types }: { readonly accountIds: readonly bigint[]; readonly types: readonly string[] },
): Promise<number> {
  const { listeners } = onlyRow(
    await db.query<{ listeners: number }>(
      `SELECT coalesce(sum(listeners), 0)::integer AS listeners FROM ledger.event_subscriptions
        WHERE account_id = ANY ($1) AND type = ANY ($2)`,
      [accountIds, types],
    ),
  );
  return listeners;
}
