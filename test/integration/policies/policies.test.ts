import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { listBudgets } from '../../../src/policies/budget-states.ts';
import type { Reply } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;

interface Key {
  readonly id: string;
  readonly apiKey: string;
}

const outcome = ({ status, body }: Reply) => [status, body.code];
const put = (by: string, id: string, policy: object, headers: Record<string, string> = {}) =>
  service.client.request('PUT', `/account/keys/${id}/policy`, { key: by, body: policy, headers });
const get = (by: string, id: string) => service.client.get(`/account/keys/${id}/policy`, by);
const remove = (by: string, id: string, headers: Record<string, string> = {}) =>
  service.client.request('DELETE', `/account/keys/${id}/policy`, { key: by, headers });
const audited = async (by: string): Promise<{ action: string; details: object }[]> =>
  (await service.client.get('/account/audit', by)).body.entries;
const mails = async (by: string): Promise<{ subject: string }[]> =>
  (await service.client.get('/sandbox/messages', by)).body.messages;
const widerMails = async (by: string) =>
  (await mails(by)).filter(({ subject }) => subject === 'An API key of your account may now spend more').length;

async function rootId(key: string): Promise<string> {
  const { keys } = (await service.client.get('/account/keys', key)).body;
  return keys.find(({ current }: { current: boolean }) => current).id;
}

async function makeBelow(parent: Key, wish: object = {}): Promise<Key> {
  const { body } = await service.client.post('/account/keys', { name: 'Agent', ...wish }, parent.apiKey);
  return { id: body.id, apiKey: body.apiKey };
}

/** A root, a key below it, and a key below that. */
async function family() {
  const { key } = await service.client.register();
  const root = { id: await rootId(key), apiKey: key };
  const child = await makeBelow(root);
  return { root, child, grandchild: await makeBelow(child) };
}

/** As if so much had been paid. */
const spend = (name: string, place: string, atomic: number) =>
  db().query(
    `UPDATE ledger.budget_counts c SET bucket = ledger.bucket_of(b.span, b.time_zone, b.seconds, now()), in_bucket = $3, spent = $3,
            bucket_until = NULL FROM ledger.budgets b WHERE b.id = c.budget AND b.name = $1 AND b.place = $2`,
    [name, place, atomic],
  );

const daily = { id: 'daily', amount: 20, currency: 'USDC', window: 'day' };
const shownDaily = { ...daily, timeZone: 'UTC', onExceed: 'deny' };

describe('the policy of a key', () => {
  test('is set, read, replaced and deleted, with its version as a strong ETag', async () => {
    const { root, child } = await family();
    expect(outcome(await get(root.apiKey, child.id))).toEqual([404, 'policy_not_found']);
    const rules = [{ effect: 'allow', operation: ['transfer'], amount: { lte: 5 }, counterpartyIs: 'known' }];
    const set = await put(root.apiKey, child.id, { rules, budgets: [daily] });
    expect(set.status).toBe(200);
    expect(set.body).toEqual({ key: child.id, rules, budgets: [shownDaily], version: expect.any(String) });
    expect(set.headers.get('etag')).toBe(`"${set.body.version}"`);
    const read = await get(child.apiKey, child.id);
    expect([read.body, read.headers.get('etag')]).toEqual([set.body, `"${set.body.version}"`]);

    const second = await put(root.apiKey, child.id, { rules: [] });
    expect(second.body).toEqual({ key: child.id, rules: [], budgets: [], version: expect.any(String) });
    expect((await remove(root.apiKey, child.id)).body).toEqual({ id: child.id, deleted: true });
    expect(outcome(await remove(root.apiKey, child.id))).toEqual([404, 'policy_not_found']);
    expect(outcome(await get(root.apiKey, child.id))).toEqual([404, 'policy_not_found']);
  });

  test('is left alone by a stale If-Match', async () => {
    const { root, child } = await family();
    expect(outcome(await put(root.apiKey, child.id, {}, { 'if-match': '*' }))).toEqual([412, 'policy_changed']);
    const { version } = (await put(root.apiKey, child.id, { rules: [] })).body;
    expect(outcome(await put(root.apiKey, child.id, {}, { 'if-match': '"old"' }))).toEqual([412, 'policy_changed']);
    const weak = { 'if-match': `W/"${version}"` };
    expect(outcome(await put(root.apiKey, child.id, {}, weak))).toEqual([412, 'policy_changed']);
    expect(outcome(await remove(root.apiKey, child.id, { 'if-match': '"old"' }))).toEqual([412, 'policy_changed']);
    expect((await get(root.apiKey, child.id)).body.version).toBe(version);
    const changed = await put(root.apiKey, child.id, {}, { 'if-match': `"old", "${version}"` });
    expect(changed.status).toBe(200);
    const unquoted = await put(root.apiKey, child.id, { rules: [] }, { 'if-match': changed.body.version });
    expect(unquoted.status).toBe(200);
    expect((await remove(root.apiKey, child.id, { 'if-match': '*' })).status).toBe(200);
  });

  test.each([
    { rules: null },
    { budgets: null },
    { rules: [{ effect: 'allow', counterparty: null }] },
    { rules: [{ effect: 'allow', amount: { gt: 1, lte: null } }] },
  ])('is left alone by %j, where null may be a mistake', async (policy) => {
    const { root, child } = await family();
    const { version } = (await put(root.apiKey, child.id, { rules: [], budgets: [daily] })).body;
    expect(outcome(await put(root.apiKey, child.id, policy))).toEqual([400, 'invalid_request']);
    expect((await get(root.apiKey, child.id)).body.version).toBe(version);
  });

  test('of two changes of the same version one is refused', async () => {
    const { root, child } = await family();
    const { version } = (await put(root.apiKey, child.id, {})).body;
    const headers = { 'if-match': `"${version}"` };
    const replies = await Promise.all(
      [1, 2, 3, 4].map((amount) => put(root.apiKey, child.id, { budgets: [{ ...daily, amount }] }, headers)),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412]);
  });

  test('survives a rotation', async () => {
    const { root, child } = await family();
    const { body } = await put(root.apiKey, child.id, { budgets: [daily] });
    const rotated = (await service.client.post(`/account/keys/${child.id}/rotate`, {}, root.apiKey)).body;
    expect((await get(rotated.apiKey, rotated.id)).body).toEqual({ ...body, key: rotated.id });
    expect((await get(rotated.apiKey, child.id)).body.version).toBe(body.version);
    const { budgets } = (await service.client.get('/account/budgets', rotated.apiKey)).body;
    expect(budgets).toMatchObject([{ key: rotated.id, id: 'daily' }]);
  });
});

describe('who may change a policy', () => {
  test('a key above it, never the key itself, one below or one beside it, and no key for a root', async () => {
    const { root, child, grandchild } = await family();
    const beside = await makeBelow(root);
    const stranger = await service.client.register();
    const refused = [403, 'not_an_ancestor'];
    expect((await put(root.apiKey, grandchild.id, {})).status).toBe(200);
    expect((await put(child.apiKey, grandchild.id, {})).status).toBe(200);
    expect(outcome(await put(grandchild.apiKey, grandchild.id, {}))).toEqual(refused);
    expect(outcome(await put(grandchild.apiKey, child.id, {}))).toEqual(refused);
    expect(outcome(await put(beside.apiKey, grandchild.id, {}))).toEqual(refused);
    expect(outcome(await put(root.apiKey, root.id, {}))).toEqual(refused);
    expect(outcome(await put(child.apiKey, root.id, {}))).toEqual(refused);
    expect(outcome(await remove(grandchild.apiKey, grandchild.id))).toEqual(refused);
    expect(outcome(await put(stranger.key, child.id, {}))).toEqual([404, 'key_not_found']);
    expect(outcome(await put(root.apiKey, 'key_unknown', {}))).toEqual([404, 'key_not_found']);

    expect((await get(grandchild.apiKey, grandchild.id)).status).toBe(200);
    expect(outcome(await get(beside.apiKey, grandchild.id))).toEqual(refused);
    expect(outcome(await get(grandchild.apiKey, child.id))).toEqual(refused);
    expect(outcome(await get(stranger.key, grandchild.id))).toEqual([404, 'key_not_found']);
  });

  test('only with the scope manage', async () => {
    const { root } = await family();
    const helper = await makeBelow(root, { scopes: ['read', 'pay'] });
    const below = await makeBelow(root, { scopes: ['read'], parent: helper.id });
    expect(outcome(await put(helper.apiKey, below.id, {}))).toEqual([403, 'scope_required']);
    expect(outcome(await remove(helper.apiKey, below.id))).toEqual([403, 'scope_required']);
  });

  test('not a frozen key', async () => {
    const { root, child, grandchild } = await family();
    await service.client.post(`/account/keys/${child.id}/freeze`, undefined, root.apiKey);
    expect(outcome(await put(child.apiKey, grandchild.id, {}))).toEqual([403, 'key_frozen']);
    expect((await put(root.apiKey, grandchild.id, {})).status).toBe(200);
  });

  test('a revoked key is not found', async () => {
    const { root, grandchild } = await family();
    await service.client.request('DELETE', `/account/keys/${grandchild.id}`, { key: root.apiKey });
    expect(outcome(await put(root.apiKey, grandchild.id, {}))).toEqual([404, 'key_not_found']);
  });
});

describe('budgets', () => {
  const states = async (key: string) => (await service.client.get('/account/budgets', key)).body.budgets;

  test('are listed with those of the keys above, own ones first', async () => {
    const { root, child, grandchild } = await family();
    await put(root.apiKey, child.id, {
      budgets: [
        { ...daily, timeZone: 'Asia/Tokyo' },
        { id: 'all', amount: '100.5', currency: 'EURC', window: 'once' },
      ],
    });
    await put(root.apiKey, grandchild.id, {
      budgets: [
        {
          id: 'hour',
          amount: 1,
          currency: 'USDC',
          window: 'rolling',
          seconds: 3600,
          operations: ['call'],
          onExceed: 'ask',
        },
      ],
    });
    await spend('daily', child.id, 7_500_000);
    const all = ['transfer', 'invoice', 'withdraw', 'bridge', 'swap', 'order', 'call'];
    const above = [
      {
        key: child.id,
        id: 'all',
        currency: 'EURC',
        window: 'once',
        operations: all,
        limit: '100.5',
        spent: '0',
        remaining: '100.5',
        resetsAt: null,
      },
      {
        key: child.id,
        id: 'daily',
        currency: 'USDC',
        window: 'day',
        operations: all,
        limit: '20',
        spent: '7.5',
        remaining: '12.5',
        resetsAt: expect.stringMatching(/T15:00:00.000Z$/),
      },
    ];
    expect(await states(grandchild.apiKey)).toEqual([
      {
        key: grandchild.id,
        id: 'hour',
        currency: 'USDC',
        window: 'rolling',
        operations: ['call'],
        limit: '1',
        spent: '0',
        remaining: '1',
        resetsAt: null,
      },
      ...above,
    ]);
    expect(await states(child.apiKey)).toEqual(above);
    expect(await states(root.apiKey)).toEqual([]);
  });

  test('keep what was spent when the amount changes, and when they go and come back', async () => {
    const { root, child } = await family();
    await put(root.apiKey, child.id, { budgets: [daily] });
    await spend('daily', child.id, 7_500_000);
    await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: 5 }] });
    expect(await states(child.apiKey)).toMatchObject([{ limit: '5', spent: '7.5', remaining: '0' }]);
    await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: 30 }] });
    expect(await states(child.apiKey)).toMatchObject([{ limit: '30', spent: '7.5', remaining: '22.5' }]);
    await remove(root.apiKey, child.id);
    expect(await states(child.apiKey)).toEqual([]);
    await put(root.apiKey, child.id, { budgets: [daily] });
    expect(await states(child.apiKey)).toMatchObject([{ limit: '20', spent: '7.5' }]);
  });

  test('keep what was spent when the time zone is spelled in another case', async () => {
    const { root, child } = await family();
    await put(root.apiKey, child.id, { budgets: [{ ...daily, timeZone: 'US/Pacific' }] });
    await spend('daily', child.id, 7_500_000);
    for (const timeZone of ['us/pacific', 'US/PACIFIC'])
      expect((await put(root.apiKey, child.id, { budgets: [{ ...daily, timeZone }] })).status, timeZone).toBe(200);
    expect(await states(child.apiKey)).toMatchObject([{ id: 'daily', spent: '7.5' }]);
  });

  test('of a key have at most a hundred ids as long as it lives, and only new ones are counted', async () => {
    const { root, child } = await family();
    const ids = (...all: string[]) => ({ budgets: all.map((id) => ({ ...daily, id })) });
    const counted = async () =>
      onlyRow(
        await db().query<{ count: number }>(
          "SELECT c.count FROM message_counts c JOIN api_keys k ON c.scope = 'budgets:account:' || k.account_id WHERE k.id = $1",
          [child.id],
        ),
      ).count;
    const { version } = (await put(root.apiKey, child.id, ids('one', 'two'))).body;
    await db().query(
      `INSERT INTO ledger.budgets (account_id, place, name, currency, span, most, is_active)
       SELECT account_id, place, 'former ' || n, currency, span, most, false FROM ledger.budgets, generate_series(1, 97) n
        WHERE place = $1 AND name = 'one'`,
      [child.id],
    );
    const refused = await put(root.apiKey, child.id, ids('one', 'three', 'four'));
    expect([...outcome(refused), refused.body.errors[0].path]).toEqual([400, 'invalid_request', 'budgets']);
    expect((await get(root.apiKey, child.id)).body.version).toBe(version);
    expect(await counted()).toBe(2);
    expect((await put(root.apiKey, child.id, ids('one', 'three'))).status).toBe(200);
    expect(outcome(await put(root.apiKey, child.id, ids('four')))).toEqual([400, 'invalid_request']);
    expect((await put(root.apiKey, child.id, ids('two', 'former 97'))).status).toBe(200);
    expect(await counted()).toBe(3);
    expect((await states(child.apiKey)).map(({ id }: { id: string }) => id)).toEqual(['former 97', 'two']);
  });

  test('of other keys are not read', async () => {
    const { root, child } = await family();
    const beside = await makeBelow(root);
    for (const { id } of [child, beside]) await put(root.apiKey, id, { budgets: [daily] });
    await db().query(
      `INSERT INTO ledger.budgets (account_id, place, name, currency, span, most)
       SELECT account_id, place, 'b' || n, currency, span, most FROM ledger.budgets, generate_series(1, 2000) n WHERE place = $1`,
      [beside.id],
    );
    await db().query('ANALYZE ledger.budgets');
    expect(await states(child.apiKey)).toMatchObject([{ key: child.id, id: 'daily' }]);
    const { accountId } = onlyRow(
      await db().query<{ accountId: bigint }>('SELECT account_id FROM api_keys WHERE id = $1', [child.id]),
    );
    const rowsRead = `SELECT (seq_tup_read + idx_tup_fetch)::integer AS rows FROM pg_stat_xact_user_tables
      WHERE relid = 'ledger.budgets'::regclass`;
    await db().transaction(async (tx) => {
      const read = async () => (await tx.query<{ rows: number }>(rowsRead)).rows[0]?.rows ?? 0;
      const before = await read();
      expect(await listBudgets(tx, { accountId, keyId: child.id })).toHaveLength(1);
      expect((await read()) - before).toBe(1);
    });
  });

  test.each([
    { currency: 'EURC' },
    { window: 'week' },
    { window: 'rolling', seconds: 60 },
    { timeZone: 'Europe/Berlin' },
  ])('have another id where they have %j', async (change) => {
    const { root, child } = await family();
    const { version } = (await put(root.apiKey, child.id, { budgets: [daily] })).body;
    expect(outcome(await put(root.apiKey, child.id, { budgets: [{ ...daily, ...change }] }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect((await get(root.apiKey, child.id)).body.version).toBe(version);
    expect((await put(root.apiKey, child.id, { budgets: [{ ...daily, ...change, id: 'other' }] })).status).toBe(200);
  });

  test('refuse what is no budget and say where', async () => {
    const { root, child } = await family();
    const reply = await put(root.apiKey, child.id, {
      budgets: [
        { ...daily, seconds: 60 },
        { ...daily, amount: '1.0000001' },
      ],
    });
    expect(outcome(reply)).toEqual([400, 'invalid_request']);
    expect(reply.body.errors[0].path).toMatch(/^budgets\.[01]\./);
    expect(outcome(await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: '1.0000001' }] }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect(outcome(await put(root.apiKey, child.id, { limits: [] }))).toEqual([400, 'invalid_request']);
  });
});

describe('a change', () => {
  test('is audited and mailed as wider only where it may be', async () => {
    const { root, child } = await family();
    const last = async () => (await audited(root.apiKey))[0];
    const { version } = (await put(root.apiKey, child.id, { budgets: [daily] })).body;
    expect(await last()).toMatchObject({
      action: 'policy.changed',
      details: { key: child.id, version, rules: null, budgets: ['daily'] },
    });
    await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: 10 }] });
    expect(await last()).toMatchObject({ action: 'policy.changed' });
    expect(await widerMails(root.apiKey)).toBe(0);
    await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: 11 }] });
    expect(await last()).toMatchObject({ action: 'policy.widened' });
    expect(await widerMails(root.apiKey)).toBe(1);
    const entries = (await audited(root.apiKey)).length;
    await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: '11.0' }] });
    expect(await audited(root.apiKey)).toHaveLength(entries);
    const office = { from: '09:00', to: '17:00', timeZone: 'UTC', days: ['mon'] };
    for (const lte of [5, 4]) {
      await put(root.apiKey, child.id, {
        rules: [{ effect: 'allow', hours: office, amount: { lte } }],
        budgets: [{ ...daily, amount: 11 }],
      });
      expect(await last()).toMatchObject({ action: 'policy.changed' });
    }
    expect(await widerMails(root.apiKey)).toBe(1);
    await remove(root.apiKey, child.id);
    expect(await last()).toMatchObject({ action: 'policy.widened', details: { version: null } });
    expect(await widerMails(root.apiKey)).toBe(2);
  });

  test('to a lower limit announces the thresholds that are reached by it, once', async () => {
    const { root, child } = await family();
    const events = ['budget.threshold'];
    const { body: hook } = await service.client.post('/webhooks', { url: 'https://example.com/', events }, root.apiKey);
    const told = async () => {
      const { rows } = await db().query<{ body: string }>('SELECT body FROM webhook_deliveries WHERE webhook_id = $1', [
        hook.id,
      ]);
      const all = rows.map(({ body }) => JSON.parse(body).data);
      return all.map(({ budget, limit, threshold }) => `${budget} of ${limit}: ${threshold}`).toSorted();
    };
    // Once the second budget is announced, so is everything about the first.
    for (const id of ['daily', 'last']) {
      await put(root.apiKey, child.id, { budgets: [{ ...daily, id }] });
      await spend(id, child.id, 9_000_000);
      for (const amount of [10, 9, 8]) await put(root.apiKey, child.id, { budgets: [{ ...daily, id, amount }] });
    }
    await expect.poll(told).toContain('last of 9: 100');
    expect(await told()).toEqual(
      ['daily', 'last'].flatMap((id) => [`${id} of 10: 50`, `${id} of 10: 80`, `${id} of 9: 100`]),
    );
  });

  test('counts the stamp of the account, a refused one does not', async () => {
    const { root, child } = await family();
    const stamp = async () =>
      (
        await db().query<{ stamp: bigint }>(
          'SELECT s.stamp FROM key_stamps s JOIN api_keys k USING (account_id) WHERE k.id = $1',
          [root.id],
        )
      ).rows[0]?.stamp;
    expect(await stamp()).toBeUndefined();
    await put(root.apiKey, root.id, {});
    expect(await stamp()).toBeUndefined();
    await put(root.apiKey, child.id, {});
    const first = await stamp();
    await remove(root.apiKey, child.id);
    expect([first, await stamp()]).toEqual([1n, 2n]);
  });

  test('sends the event policy.changed', async () => {
    const { root, child } = await family();
    const url = `https://example.com/${randomBytes(4).toString('hex')}`;
    const hook = await service.client.post(
      '/webhooks',
      { url, events: ['policy.changed', 'budget.threshold'] },
      root.apiKey,
    );
    expect(hook.status).toBe(201);
    const { version } = (await put(root.apiKey, child.id, {})).body;
    await remove(root.apiKey, child.id);
    const payloads = async () =>
      (await service.client.get('/webhooks/deliveries', root.apiKey)).body.deliveries?.length ??
      (await db().query('SELECT FROM webhook_deliveries WHERE webhook_id = $1', [hook.body.id])).rowCount;
    await expect.poll(payloads, { timeout: 10_000 }).toBe(2);
    const { rows } = await db().query<{ data: string }>(
      "SELECT coalesce(to_jsonb(d)::text, '') AS data FROM webhook_deliveries d WHERE webhook_id = $1 ORDER BY id",
      [hook.body.id],
    );
    expect(rows[0]?.data).toContain(version);
    expect(rows[0]?.data).toContain(child.id);
  });

  test('is forgotten when the account closes', async () => {
    const { key, password } = await service.client.register();
    const root = { id: await rootId(key), apiKey: key };
    const child = await makeBelow(root);
    await put(key, child.id, { rules: [{ effect: 'allow', counterparty: ['ada@example.com'] }] });
    const closed = await service.client.post('/account/close', { password }, key);
    expect(closed.status).toBe(200);
    expect((await db().query('SELECT FROM key_policies WHERE place = $1', [child.id])).rowCount).toBe(0);
  });
});

describe('a simulation', () => {
  const simulate = (by: string, operation: string, request: object) =>
    service.client.post('/account/policy/simulate', { operation, request }, by);
  const rolling = { id: 'rolling', amount: 5, currency: 'USDC', window: 'rolling', seconds: 3600 };
  const transferTo = (to: string, amount: number) => ({ to, amount, currency: 'USDC' });

  test('needs the scope that the payment needs', async () => {
    const [{ root }, friend] = [await family(), await service.client.register()];
    const reader = await makeBelow(root, { scopes: ['read'] });
    const payer = await makeBelow(root, { scopes: ['read', 'pay'] });
    const request = transferTo(friend.handle, 1);
    const refused = await simulate(reader.apiKey, 'transfer', request);
    expect([...outcome(refused), refused.body.scope]).toEqual([403, 'scope_required', 'pay']);
    const withdrawal = { amount: 1, address: `0x${'7'.repeat(40)}` };
    const denied = await simulate(payer.apiKey, 'withdraw', withdrawal);
    expect([...outcome(denied), denied.body.scope]).toEqual([403, 'scope_required', 'withdraw']);
    expect((await simulate(payer.apiKey, 'transfer', request)).body.outcome).toBe('allow');
  });

  test('drops null as the endpoint does', async () => {
    const [{ child }, friend] = [await family(), await service.client.register()];
    const request = { ...transferTo(friend.handle, 1), description: null };
    expect(await simulate(child.apiKey, 'transfer', request)).toMatchObject({
      status: 200,
      body: { outcome: 'allow' },
    });
  });

  test('says when a rolling budget resets that was whole before, and no refusal says that it never does', async () => {
    const [{ root, child }, friend] = [await family(), await service.client.register()];
    await put(root.apiKey, child.id, { budgets: [rolling] });
    const [{ spent, resetsAt }] = (await simulate(child.apiKey, 'transfer', transferTo(friend.handle, 1))).body.budgets;
    expect(spent).toBe('1');
    const left = Date.parse(resetsAt) - Date.now();
    expect(left).toBeGreaterThan(3_000_000);
    expect(left).toBeLessThanOrEqual(3_660_000);
    const refused = await service.client.post('/agent/transfer', transferTo(friend.handle, 6), child.apiKey);
    expect([...outcome(refused), refused.body.resetsAt]).toEqual([403, 'budget_exceeded', null]);
    expect(refused.body.detail).not.toContain('refill');
  });
});

test('a call is refused by a budget before the balance', async () => {
  const { root, child } = await family();
  const call = () =>
    service.client.post('/nano/pay', { url: 'http://demo-seller.example/forecast', maxAmount: 1 }, child.apiKey);
  expect(outcome(await call())).toEqual([400, 'insufficient_balance']);
  await put(root.apiKey, child.id, { budgets: [{ ...daily, amount: 0.5 }] });
  expect(outcome(await call())).toEqual([403, 'budget_exceeded']);
});
