import type { Transaction } from '../kernel/db/database.ts';
import { setSubscriptions } from '../ledger/events.ts';

/** Records what the account's webhooks and its feed need. The caller holds the account's row. */
export async function subscribe(tx: Transaction, accountId: bigint): Promise<void> {
  const { rows } = await tx.query<{ type: string }>(
    `SELECT unnest(events) AS type FROM webhooks WHERE account_id = $1 AND status = 'active'
     UNION SELECT unnest(types) FROM ledger.event_feeds WHERE account_id = $1 ORDER BY 1`,
    [accountId],
  );
  const types = rows.map(({ type }) => type);
  await setSubscriptions(tx, accountId, types);
}
