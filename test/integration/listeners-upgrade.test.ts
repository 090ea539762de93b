import { expect, test } from 'vitest';
import { useOlderDatabase } from '../support/older-database.ts';

const older = useOlderDatabase({ without: '038_event_listeners.sql' });

test('webhooks from before are counted: each type by how many of them receive it', async () => {
  const { db } = older;
  const { rows: accounts } = await db.query<{ id: bigint }>(
    `INSERT INTO accounts (handle, email, name, password_hash)
     VALUES ('PA-00000001', 'a@example.com', 'Ada', '-'), ('PA-00000002', 'b@example.com', 'Bob', '-') RETURNING id`,
  );
  const [ada, bob] = accounts.map(({ id }) => id);
  await db.query(
    `INSERT INTO webhooks (id, account_id, url, events, status, ended_at) VALUES
       ('whk_1', $1, 'https://example.com', '{invoice.created,payment.sent}', 'active', NULL),
       ('whk_2', $1, 'https://example.com', '{invoice.created}', 'active', NULL),
       ('whk_3', $1, 'https://example.com', '{invoice.created}', 'deleted', now()),
       ('whk_4', $2, 'https://example.com', '{invoice.created}', 'active', NULL)`,
    [ada, bob],
  );
  await db.query(
    `INSERT INTO ledger.event_subscriptions (account_id, type)
     VALUES ($1, 'invoice.created'), ($1, 'payment.sent'), ($2, 'invoice.created')`,
    [ada, bob],
  );
  await older.upgrade();
  const { rows } = await db.query(
    'SELECT account_id = $1 AS ada, type, listeners FROM ledger.event_subscriptions ORDER BY account_id, type',
    [ada],
  );
  expect(rows).toEqual([
    { ada: true, type: 'invoice.created', listeners: 2 },
    { ada: true, type: 'payment.sent', listeners: 1 },
    { ada: false, type: 'invoice.created', listeners: 1 },
  ]);
  // A release that knows nothing of the column goes on subscribing.
  await db.query("INSERT INTO ledger.event_subscriptions (account_id, type) VALUES ($1, 'payment.sent')", [bob]);
});
