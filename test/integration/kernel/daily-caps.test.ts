import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { forgetMessages } from '../../../src/accounts/messages/outbox.ts';
import { type CappedKind, dailyCaps } from '../../../src/kernel/daily-caps/count-today.ts';
import { forgetOldDays } from '../../../src/kernel/daily-caps/take-today.ts';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { forgetLinks } from '../../../src/payments/funding/link.ts';
import type { Reply, TestAccount } from '../../support/client.ts';
import { startTestShop } from '../../support/merchant.ts';
import { startService, useService } from '../../support/service.ts';

const shop = await startTestShop();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: shop.website } });
const db = () => service.database.db;

beforeEach(() => {
  shop.answers = {
    '/cart.js': { currency: 'USD' },
    '/search/suggest.json': {
      resources: { results: { products: [{ title: 'Mug', vendor: 'V', price: '5.00', url: '/mug' }] } },
    },
  };
});

/** Writes one of its kind. A number makes each different from the others. */
type Write = (account: TestAccount, n: number, headers?: Record<string, string>) => Promise<Reply>;

const send =
  (method: string, path: string, body: (account: TestAccount, n: number) => unknown): Write =>
  (account, n, headers = {}) =>
    service.client.request(method, path, { key: account.key, body: body(account, n), headers });

const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`;

interface Capped {
  readonly kind: CappedKind;
  readonly write: Write;
  /** The table that grows, and how its rows are known to be the account's. */
  readonly table: string;
  readonly owner?: string;
  readonly takesKeys?: false;
}

const capped: readonly Capped[] = [
  {
    kind: 'invoices',
    table: 'invoices',
    owner: 'from_account_id',
    write: send('POST', '/invoices', (_, n) => ({
      toEmail: 'payer@example.com',
      amount: n,
      currency: 'USDC',
      description: 'Rent',
    })),
  },
  {
    kind: 'fundingLinks',
    table: 'funding_links',
    write: send('POST', '/circle/buy-session', (_, n) => ({ amount: n })),
  },
  {
    kind: 'keys',
    table: 'api_keys',
    takesKeys: false,
    write: send('POST', '/account/keys', (_, n) => ({ name: `Agent ${n}` })),
  },
  {
    kind: 'webhooks',
    table: 'webhooks',
    write: send('POST', '/webhooks', (_, n) => ({ url: `https://example.com/${n}`, events: ['payment.sent'] })),
  },
  {
    kind: 'domains',
    table: 'merchant_claims',
    write: send('POST', '/shopping/merchants', (_, n) => ({ website: `shop-${n}.example.com` })),
  },
  {
    kind: 'settings',
    table: 'withdrawal_addresses',
    takesKeys: false,
    write: send('POST', '/account/withdrawal-addresses', (_, n) => ({ address: address(n) })),
  },
  {
    kind: 'settings',
    table: 'audit_log',
    takesKeys: false,
    write: send('PATCH', '/account', (_, n) => ({ withdrawalAddress: address(n) })),
  },
  {
    kind: 'settings',
    table: 'audit_log',
    takesKeys: false,
    write: send('PATCH', '/account', (_, n) => ({ shippingAddress: `${n} Main Street, Springfield, IL 62701, US` })),
  },
  {
    kind: 'domains',
    table: 'audit_log',
    takesKeys: false,
    async write(account, n) {
      const { accountId } = await idOf(account);
      await db().query(
        `INSERT INTO merchant_claims (domain, account_id, token) VALUES ($2, $1, repeat('x', 32)) ON CONFLICT DO NOTHING`,
        [accountId, `own-${accountId}.example.com`],
      );
      const change = { ordersUrl: `https://example.com/${n}` };
      return service.client.patch(`/shopping/merchants/own-${accountId}.example.com`, change, account.key);
    },
  },
  {
    kind: 'budgets',
    table: 'ledger.budgets',
    takesKeys: false,
    async write(account, n) {
      const { body: agent } = await service.client.post('/account/keys', { name: 'Agent' }, account.key);
      const budgets = [{ id: `b${n}`, amount: n, currency: 'USDC', window: 'day' }];
      const path = `/account/keys/${agent.id}/policy`;
      return service.client.request('PUT', path, { key: account.key, body: { budgets } });
    },
  },
  {
    kind: 'searches',
    table: 'shopping_previews',
    owner: '(SELECT $1::bigint)',
    takesKeys: false,
    write: send('POST', '/shopping/search', (_, n) => ({ website: shop.website, query: `mug ${n}` })),
  },
];

async function idOf({ handle }: TestAccount): Promise<{ accountId: bigint }> {
  return onlyRow(
    await db().query<{ accountId: bigint }>('SELECT id AS account_id FROM accounts WHERE handle = $1', [handle]),
  );
}

/** As if so many had been written today that these are left. */
async function leave(account: TestAccount, kind: CappedKind, left: number): Promise<string> {
  const scope = `${kind}:account:${(await idOf(account)).accountId}`;
  await setCount(scope, dailyCaps[kind].most - left);
  return scope;
}

async function setCount(scope: string, count: number): Promise<void> {
  await db().query(
    `INSERT INTO message_counts (day, scope, count) VALUES ((now() AT TIME ZONE 'UTC')::date, $1, $2)
     ON CONFLICT (day, scope) DO UPDATE SET count = $2`,
    [scope, count],
  );
}

async function countOf(scope: string): Promise<number> {
  const { rows } = await db().query<{ count: number }>(
    `SELECT count FROM message_counts WHERE day = (now() AT TIME ZONE 'UTC')::date AND scope = $1`,
    [scope],
  );
  return rows[0]?.count ?? 0;
}

const aDayPasses = (scope: string) => db().query('UPDATE message_counts SET day = day - 1 WHERE scope = $1', [scope]);

async function rowsOf(account: TestAccount, { table, owner = 'account_id' }: Pick<Capped, 'table' | 'owner'>) {
  const { accountId } = await idOf(account);
  const { count } = onlyRow(
    await db().query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table} WHERE ${owner} = $1`, [accountId]),
  );
  return count;
}

function expectRefused(reply: Reply): void {
  expect(reply).toMatchObject({ status: 429, body: { code: 'daily_cap_reached' } });
  const seconds = Number(reply.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
}

const wrote = ({ status }: Reply) => status === 200 || status === 201;

describe.each(capped)('$kind ($table)', ({ kind, write, takesKeys, ...rows }) => {
  test('are so many a day and no more, however many come at once, and as many on the next', async () => {
    const ada = await service.client.register();
    const scope = await leave(ada, kind, 1);
    const before = await rowsOf(ada, rows);
    const replies = await Promise.all([write(ada, 1), write(ada, 2), write(ada, 3)]);
    const refused = replies.filter((reply) => !wrote(reply));
    expect(replies.filter(wrote)).toHaveLength(1);
    refused.forEach(expectRefused);
    // What was refused is neither written nor counted.
    expect(await rowsOf(ada, rows)).toBe(before + 1);
    expect(await countOf(scope)).toBe(dailyCaps[kind].most);

    await aDayPasses(scope);
    expect(await write(ada, 4)).toSatisfy(wrote);
    expect(await countOf(scope)).toBe(1);
  });

  test('are counted for each account, and not for one of the enterprise tier', async () => {
    const [ada, bob] = [await service.client.register(), await service.client.register()];
    await leave(ada, kind, 0);
    expect(await write(bob, 5)).toSatisfy(wrote);
    const platform = await service.client.register();
    await db().query("UPDATE accounts SET tier = 'enterprise' WHERE handle = $1", [platform.handle]);
    const scope = await leave(platform, kind, 0);
    expect(await write(platform, 6)).toSatisfy(wrote);
    expect(await countOf(scope)).toBe(dailyCaps[kind].most);
  });

  if (takesKeys === false) return;
  test('cost nothing when they are sent again with their Idempotency-Key', async () => {
    const ada = await service.client.register();
    const scope = await leave(ada, kind, 1);
    const headers = { 'idempotency-key': 'the same' };
    const [first, again] = [await write(ada, 7, headers), await write(ada, 7, headers)];
    expect([first, again].every(wrote)).toBe(true);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await countOf(scope)).toBe(dailyCaps[kind].most);
    // The key of what was refused is free for the next day.
    const tomorrow = { 'idempotency-key': 'tomorrow' };
    expectRefused(await write(ada, 8, tomorrow));
    await aDayPasses(scope);
    expect(await write(ada, 8, tomorrow)).toSatisfy(wrote);
  });
});

test('two instances at the last place: one of them writes', async () => {
  const other = await startService(service.database, { roles: { serve: true, work: false } });
  onTestFinished(() => other.stop());
  const ada = await service.client.register();
  const scope = await leave(ada, 'invoices', 1);
  const invoice = { toEmail: 'payer@example.com', amount: 1, currency: 'USDC', description: 'Rent' };
  const replies = await Promise.all(
    [service, other, service, other].map(({ client }) => client.post('/invoices', invoice, ada.key)),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 429, 429, 429]);
  expect(await rowsOf(ada, { table: 'invoices', owner: 'from_account_id' })).toBe(1);
  expect(await countOf(scope)).toBe(dailyCaps.invoices.most);
});

describe('what takes something back', () => {
  test('is never refused: keys, webhooks, domains, addresses and the allow-list', async () => {
    const ada = await service.client.register();
    const { client } = service;
    await client.post('/shopping/merchants', { website: 'back.example.com' }, ada.key);
    const key = await client.post('/account/keys', { name: 'Agent' }, ada.key);
    const webhook = await client.post('/webhooks', { url: 'https://example.com/', events: ['payment.sent'] }, ada.key);
    await client.post('/account/withdrawal-addresses', { address: address(9) }, ada.key);
    await client.patch(
      '/account',
      { withdrawalAddress: address(9), shippingAddress: '1 Main Street, Austin, TX 78701' },
      ada.key,
    );
    await client.request('PUT', '/account/withdrawal-addresses/allow-list', { key: ada.key, body: { enabled: true } });
    await client.request('PUT', '/account/withdrawal-addresses/allow-list', { key: ada.key, body: { enabled: false } });
    for (const kind of ['keys', 'webhooks', 'domains', 'settings'] as const) await leave(ada, kind, 0);
    for (const [method, path, body] of [
      ['DELETE', `/account/keys/${key.body.id}`, undefined],
      ['DELETE', `/webhooks/${webhook.body.id}`, undefined],
      ['PATCH', '/shopping/merchants/back.example.com', { ordersUrl: null }],
      ['DELETE', `/account/withdrawal-addresses/${address(9)}`, undefined],
      ['PATCH', '/account', { withdrawalAddress: null, shippingAddress: null }],
      ['PUT', '/account/withdrawal-addresses/allow-list', { enabled: true }],
    ] as const) {
      expect(await client.request(method, path, { key: ada.key, body }), `${method} ${path}`).toMatchObject({
        status: 200,
      });
    }
    // Switching the allow-list off makes something: the next refusal, mail and entry.
    const off = { key: ada.key, body: { enabled: false } };
    expectRefused(await client.request('PUT', '/account/withdrawal-addresses/allow-list', off));
  });
});

describe('the tier', () => {
  test('changes so often a day, and asking for the present one changes nothing', async () => {
    const ada = await service.client.register();
    const scope = await leave(ada, 'settings', 1);
    const setTier = (tier: string) => service.client.post('/account/tier', { tier }, ada.key);
    const entries = () => rowsOf(ada, { table: 'audit_log' });
    const before = await entries();
    expect((await setTier('pro')).status).toBe(200);
    expect((await setTier('pro')).body.tier).toBe('pro');
    expect(await entries()).toBe(before + 1);
    expectRefused(await setTier('free'));
    expect(await entries()).toBe(before + 1);
    await aDayPasses(scope);
    expect((await setTier('free')).status).toBe(200);
  });
});

describe('webhooks', () => {
  async function withWebhook() {
    const ada = await service.client.register();
    const { body } = await service.client.post(
      '/webhooks',
      { url: 'https://example.com/', events: ['invoice.created', 'invoice.cancelled'] },
      ada.key,
    );
    return { ada, id: body.id as string };
  }

  test('are sent so many test events a day', async () => {
    const { ada, id } = await withWebhook();
    await leave(ada, 'webhookTests', 1);
    const replies = await Promise.all(
      [1, 2].map(() => service.client.post(`/webhooks/${id}/test`, undefined, ada.key)),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 429]);
    expect(await rowsOf(ada, { table: 'webhook_deliveries' })).toBe(1);
  });

  test('are sent the same event again so often a day', async () => {
    const { ada, id } = await withWebhook();
    const { body } = await service.client.post(`/webhooks/${id}/test`, undefined, ada.key);
    await db().query("UPDATE webhook_deliveries SET status = 'failed', finished_at = now() WHERE id = $1", [body.id]);
    await leave(ada, 'webhookRetries', 0);
    expectRefused(await service.client.post(`/webhooks/deliveries/${body.id}/retry`, undefined, ada.key));
  });
});

describe('sign-ins', () => {
  const signIn = ({ email }: TestAccount, password = 'correct horse') =>
    service.client.post('/agent/register', { email, password });
  const networkOf = async (account: TestAccount) => `signIns:${(await idOf(account)).accountId}:network:127.0.0.1`;

  test('give so many keys a day to a network, and others are not kept out', async () => {
    const ada = await service.client.register();
    const scope = await networkOf(ada);
    await setCount(scope, dailyCaps.signIns.most - 1);
    const replies = await Promise.all([signIn(ada), signIn(ada)]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 429]);
    expectRefused(replies.find(({ status }) => status === 429) as Reply);
    expect(await rowsOf(ada, { table: 'api_keys' })).toBe(2);
    // The scope names the network: one elsewhere has a count of its own.
    await db().query("UPDATE message_counts SET scope = replace(scope, '127.0.0.1', '203.0.113.9') WHERE scope = $1", [
      scope,
    ]);
    expect((await signIn(ada)).status).toBe(200);
  });

  test('that fail are written down so often a day, and refused all the same', async () => {
    const ada = await service.client.register();
    const scope = await leave(ada, 'failedSignIns', 1);
    const before = await rowsOf(ada, { table: 'audit_log' });
    for (let n = 0; n < 2; n++) expect((await signIn(ada, 'wrong password')).status).toBe(401);
    expect(await rowsOf(ada, { table: 'audit_log' })).toBe(before + 1);
    expect(await countOf(scope)).toBe(dailyCaps.failedSignIns.most);
  });
});

describe('wallets', () => {
  test('are asked for without end, and with so many Idempotency-Keys a day', async () => {
    const ada = await service.client.register();
    await leave(ada, 'walletRequests', 1);
    const ask = (key?: string) =>
      service.client.request('POST', '/circle/wallet', {
        key: ada.key,
        ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      });
    expect((await ask('one')).status).toBe(200);
    expectRefused(await ask('two'));
    expect((await ask('one')).status).toBe(200);
    expect((await ask()).status).toBe(200);
    const chain = await service.client.request('POST', '/cross-chain/wallet', {
      key: ada.key,
      body: { blockchain: 'ETH' },
      headers: { 'idempotency-key': 'three' },
    });
    expectRefused(chain);
  });
});

describe('a stream of products', () => {
  test('is refused before it begins when no preview can be kept', async () => {
    const ada = await service.client.register();
    await leave(ada, 'searches', 0);
    const asked = shop.asked.length;
    const reply = await service.client.get(`/shopping/search/stream?q=mug&website=${shop.website}`, ada.key);
    expectRefused(reply);
    expect(shop.asked).toHaveLength(asked);
  });
});

describe('what nobody needs any more', () => {
  test('counts of days gone by do not stay', async () => {
    await db().query("INSERT INTO message_counts VALUES (current_date - 5, 'x', 1), (current_date, 'y', 1)");
    await forgetOldDays(db());
    const { rows } = await db().query("SELECT scope FROM message_counts WHERE scope IN ('x', 'y')");
    expect(rows).toEqual([{ scope: 'y' }]);
  });

  test('messages do not stay for more than 30 days', async () => {
    await db().query(
      `INSERT INTO messages (id, channel, recipient, subject, created_at)
       SELECT 'msg_' || days, 'email', 'ada@example.com', 'Hello', now() - make_interval(days => days)
         FROM unnest(ARRAY[29, 31]) days`,
    );
    await forgetMessages(db());
    const { rows } = await db().query("SELECT id FROM messages WHERE subject = 'Hello'");
    expect(rows).toEqual([{ id: 'msg_29' }]);
  });

  test('funding links that led to nothing do not stay for more than 90 days', async () => {
    const ada = await service.client.register();
    const { accountId } = await idOf(ada);
    // In one transaction, so that the watcher of payments does not find that one of them was never seen.
    const rows = await db().transaction(async (tx) => {
      await tx.query(
        `INSERT INTO funding_links (id, account_id, chain, asset, atomic, token_hash, created_at, expires_at, seen_tx)
         SELECT 'fnd_' || name, $1, 'MATIC', 'USDC', 1, sha256(name::bytea), now() - make_interval(days => days + 1),
                now() - make_interval(days => days), seen
           FROM (VALUES ('young', 89, NULL), ('old', 91, NULL), ('seen', 91, '0x1'), ('card', 91, NULL)) l (name, days, seen)`,
        [accountId],
      );
      await tx.query(
        "INSERT INTO funding_card_payments (provider, payment_id, link_id, state) VALUES ('moonpay', '1', 'fnd_card', 'pending')",
      );
      await forgetLinks(tx);
      return (await tx.query('SELECT id FROM funding_links WHERE account_id = $1 ORDER BY id', [accountId])).rows;
    });
    expect(rows).toEqual([{ id: 'fnd_card' }, { id: 'fnd_seen' }, { id: 'fnd_young' }]);
  });
});
