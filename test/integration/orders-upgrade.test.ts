import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { orderSaga } from '../../src/orders/saga.ts';
import { useOlderDatabase } from '../support/older-database.ts';

const { db, upgrade } = useOlderDatabase({ without: 'whose_order.sql' });

let accounts = 0;

/** An account, a domain that it has, and the account that the domain first belonged to. */
async function shopOf(domain: string, { firstOwner }: { readonly firstOwner?: string } = {}): Promise<void> {
  const owners = [`${domain} now`, ...(firstOwner === undefined ? [] : [firstOwner])];
  for (const name of owners) {
    const handle = `PA-AAAAAAA${'ABCD'.charAt(accounts++)}`;
    await db.query(
      "INSERT INTO accounts (handle, email, name, password_hash) VALUES ($1, lower($1) || '@x.com', $2, '-')",
      [handle, name],
    );
  }
  await db.query(
    `INSERT INTO merchants (domain, account_id, state, enabled_by, changed_at)
     SELECT $1, id, 'enabled', 'operator', '2026-01-02' FROM accounts WHERE name = $2`,
    [domain, owners[0]],
  );
  await db.query(
    "INSERT INTO claimants (kind, name, account_id, redeemed_at) SELECT 'domain', $1, id, now() FROM accounts WHERE name = $2",
    [domain, owners.at(-1)],
  );
}

/** As a process of the release before writes it. */
async function order(id: string, domain: string, createdAt: string, status = 'placed'): Promise<void> {
  await db.query(
    `INSERT INTO orders (id, account_id, domain, channel, checkout, product_title, product_brand, product_url, item_id,
        shipping_address, likeness, asset, amount, fee, transfer_id, ask_key, cancel_key, expires_at, status, created_at,
        finished_at)
     SELECT $1, id, $2, 'webhook', '{"url": "https://x"}', '', '', '', '', '{}', $3, 'USDC', 1, 0, 't', $4, $4, $5,
        $6, $5, CASE WHEN $6 = 'placed' THEN NULL ELSE now() END FROM accounts ORDER BY id LIMIT 1`,
    [id, domain, randomBytes(32), randomUUID(), createdAt, status],
  );
}

const merchantOf = async (id: string) =>
  (
    await db.query<{ name: string | null }>(
      'SELECT a.name FROM orders o LEFT JOIN accounts a ON a.id = o.merchant_id WHERE o.id = $1',
      [id],
    )
  ).rows[0]?.name;

beforeAll(async () => {
  const states = Object.fromEntries(Object.entries(orderSaga.states).map(([name, { next }]) => [name, next]));
  await db.query("INSERT INTO sagas (name, states, fixed) VALUES ('order', $1, '{}')", [JSON.stringify(states)]);
  await shopOf('kept.com');
  await shopOf('moved.com', { firstOwner: 'before' });
  await order('kept', 'kept.com', '2026-01-01');
  await order('before', 'moved.com', '2026-01-01');
  await order('after', 'moved.com', '2026-01-03');
  await order('over', 'kept.com', '2026-01-01', 'failed');
  await order('unregistered', 'other.com', '2026-01-01');
  await upgrade();
});

test('open orders belong to the owner of their domain, unless it may have had another one', async () => {
  expect(await merchantOf('kept')).toBe('kept.com now');
  expect(await merchantOf('after')).toBe('moved.com now');
  expect(await merchantOf('before')).toBeNull();
  expect(await merchantOf('unregistered')).toBeNull();
});

test('open orders have a day from now, and those that have ended stay as they are', async () => {
  const { rows } = await db.query<{ id: string; isLater: boolean | null }>(
    'SELECT id, void_at > now() + interval \'23 hours\' AS "isLater" FROM orders ORDER BY id',
  );
  expect(rows).toEqual([
    { id: 'after', isLater: true },
    { id: 'before', isLater: true },
    { id: 'kept', isLater: true },
    { id: 'over', isLater: null },
    { id: 'unregistered', isLater: true },
  ]);
});

test('what a process of the release before opens has an owner and a last deadline too', async () => {
  await order('late', 'moved.com', '2026-01-01');
  expect(await merchantOf('late')).toBe('moved.com now');
  expect((await db.query("SELECT FROM orders WHERE id = 'late' AND void_at > now()")).rowCount).toBe(1);
});
