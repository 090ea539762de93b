import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, expect, test } from 'vitest';
import { toPostingId } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { mug } from '../../support/mug.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// A refusal is written when its minute is over: here, when the test has looked for it.
const service = useService({ settings: { orders: { waitSeconds: 25 }, decisions: { windowMs: 300 } } });
const { db } = service.database;

let client: Client;
let owner: TestAccount;
let friend: TestAccount;
let rootKey: string;
let child: TestKey;
let grandchild: TestKey;

beforeAll(async () => {
  client = service.client;
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 1_000 }, owner.key)).status).toBe(200);
  child = await createKey(client, owner.key);
  grandchild = await createKey(client, owner.key, child);
  rootKey = (await client.get('/account/keys', owner.key)).body.keys.find(
    ({ parent }: { parent: string | null }) => parent === null,
  ).id;
});

async function setPolicy({ id }: TestKey, body: object): Promise<string> {
  const reply = await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  return reply.body.version;
}

async function list(key: string, query = '') {
  const reply = await client.get(`/account/decisions${query}`, key);
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  return reply.body.decisions;
}

/** Those of a new key, so that no other test adds to them. */
const listOf = ({ id }: TestKey, query = '') => list(owner.key, `?key=${id}${query}`);

const count = async () => (await db.query(`${everywhere} SELECT FROM decisions`)).rowCount;
const everywhere = `WITH decisions AS (
  SELECT id FROM decisions_waiting UNION ALL SELECT id FROM policy_decisions)`;

const transfer = (amount: number, key: string, headers = {}) =>
  client.request('POST', '/agent/transfer', {
    key,
    headers,
    body: { to: friend.handle, amount, currency: 'USDC' },
  });

test('an allowed payment is recorded with what it took of every budget', async () => {
  const version = await setPolicy(child, {
    rules: [{ effect: 'deny', amount: { gt: 50 } }, { effect: 'allow' }],
    budgets: [{ id: 'day', amount: 100, currency: 'USDC', window: 'day' }],
  });
  const paid = await transfer(10, grandchild.apiKey);
  expect(paid).toMatchObject({ status: 200 });
  const [decision, ...others] = await list(owner.key);
  expect(others).toEqual([]);
  const { at, id, seq, ...rest } = decision;
  expect(rest).toEqual({
    account: owner.handle,
    amount: '10',
    approval: null,
    asset: 'USDC',
    budgets: [{ asset: 'USDC', id: 'day', key: child.id, remainingAfter: '90', remainingBefore: '100', taken: '10' }],
    code: null,
    count: 1,
    counterparty: friend.handle,
    key: grandchild.id,
    keys: [grandchild.id, child.id, rootKey],
    operation: 'transfer',
    outcome: 'allow',
    policies: [{ key: child.id, version }],
    posting: paid.body.transferId,
    rule: { key: child.id, index: 1 },
  });
});

test('a key without a policy leaves no record, although other keys of the account have one', async () => {
  const before = await count();
  expect(await transfer(1, owner.key)).toMatchObject({ status: 200 });
  expect(await count()).toBe(before);
});

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
const invoice = async () => {
  const wanted = { toHandle: owner.handle, amount: 7, currency: 'USDC', description: 'Lunch' };
  return (await client.post('/invoices', wanted, friend.key)).body.id;
};
const own = '/nano/quote?amount=50&currency=USDC&action=transfer';

test('every way to pay leaves one record, which names its posting', { timeout: 120_000 }, async () => {
  const wish = { name: 'agent', scopes: ['read', 'pay', 'withdraw'] };
  const fresh: TestKey = (await client.post('/account/keys', wish, owner.key)).body;
  await setPolicy(fresh, { budgets: [{ id: 'all', amount: 1_000_000, currency: 'USDC', window: 'once' }] });
  const { host } = new URL(service.url);
  const ways: readonly (readonly [string, string | null, string, object?])[] = [
    ['transfer', friend.handle, '/circle/transfer', { to: friend.handle, amount: 10, currency: 'USDC' }],
    ['invoice', friend.handle, `/invoices/${await invoice()}/pay`],
    ['withdraw', outside, '/circle/withdraw', { amount: 20, address: outside }],
    ['order', 'demo-shop.example', '/shopping/buy', mug],
    ['swap', null, '/swap/execute', { from: 'USDC', to: 'ETH', amount: '60' }],
    ['bridge', null, '/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: '30' }],
    ['call', host, '/nano/pay', { url: `${service.url}/api${own}`, maxAmount: 1 }],
    ['call', 'demo-seller.example', '/nano/pay', { url: 'http://demo-seller.example/forecast', maxAmount: 1 }],
  ];
  for (const [index, [operation, counterparty, path, body]] of ways.entries()) {
    const reply = await client.post(path, body, fresh.apiKey);
    expect(reply, `${path} ${JSON.stringify(reply.body)}`).toMatchObject({ status: 200 });
    const decisions = await listOf(fresh);
    expect(decisions, path).toHaveLength(index + 1);
    expect(decisions[0], path).toMatchObject({ operation, counterparty, outcome: 'allow', key: fresh.id });
    const { taken } = decisions[0].budgets[0];
    expect(Number(taken), path).toBeGreaterThan(0);
  }
  expect(await client.get(own, fresh.apiKey)).toMatchObject({ status: 200 });
  expect((await listOf(fresh))[0]).toMatchObject({ operation: 'call', counterparty: host, amount: '0.0001' });
  const { rows } = await db.query<{ id: string }>('SELECT posting_id AS id FROM ledger.spendings');
  const recorded = (await list(owner.key, '?limit=100')).map(({ posting }: { posting: string }) => posting);
  expect(recorded.toSorted()).toEqual(rows.map(({ id }) => toPostingId(id)).toSorted());
});

test('payments at the same time are recorded as one after the other', async () => {
  const key = await createKey(client, owner.key);
  await setPolicy(key, { budgets: [{ id: 'all', amount: 20.5, currency: 'USDC', window: 'day' }] });
  const replies = await Promise.all(Array.from({ length: 30 }, () => transfer(1, key.apiKey)));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
  const decisions = await listOf(key, '&outcome=allow');
  const steps = decisions.map(({ budgets: [one] }: { budgets: Record<string, string>[] }) => [
    Number(one?.['remainingBefore']),
    Number(one?.['remainingAfter']),
  ]);
  const expected = Array.from({ length: 20 }, (_, index) => [index + 1.5, index + 0.5]);
  expect(steps.toSorted(([one]: number[], [other]: number[]) => (one ?? 0) - (other ?? 0))).toEqual(expected);
});

test('refused payments are recorded later, together for each reason', async () => {
  const key = await createKey(client, owner.key);
  const version = await setPolicy(key, {
    rules: [
      { effect: 'deny', amount: { gt: 50 } },
      { effect: 'ask', amount: { gt: 20 } },
      { effect: 'allow', operation: ['transfer'] },
    ],
    budgets: [{ id: 'tiny', amount: 2, currency: 'USDC', window: 'day' }],
  });
  for (let time = 0; time < 3; time++)
    expect(await transfer(60, key.apiKey)).toMatchObject({ body: { code: 'rule_denied' } });
  for (let time = 0; time < 2; time++)
    expect(await transfer(5, key.apiKey)).toMatchObject({ body: { code: 'budget_exceeded' } });
  // Without a budget that denies, the rule asks.
  await setPolicy(key, { rules: [{ effect: 'ask' }] });
  expect(await transfer(1, key.apiKey)).toMatchObject({ status: 202, body: { status: 'approval_required' } });
  expect(await client.post(`/account/keys/${key.id}/freeze`, {}, owner.key)).toMatchObject({ status: 200 });
  expect(await transfer(1, key.apiKey)).toMatchObject({ body: { code: 'key_frozen' } });
  const found = await until('all reasons', async () => {
    const decisions = await listOf(key);
    const times = decisions.reduce((sum: number, one: { count: number }) => sum + one.count, 0);
    return times === 7 && decisions;
  });
  const sums = new Map<string, number>();
  for (const { code, count: times } of found) sums.set(code, (sums.get(code) ?? 0) + times);
  expect(Object.fromEntries(sums)).toEqual({
    rule_denied: 3,
    budget_exceeded: 2,
    approval_required: 1,
    key_frozen: 1,
  });
  const of = (code: string) => found.find((one: { code: string }) => one.code === code);
  expect(of('rule_denied')).toMatchObject({
    outcome: 'deny',
    rule: { key: key.id, index: 0 },
    amount: '60',
    counterparty: friend.handle,
    posting: null,
    budgets: [],
    policies: [{ key: key.id, version }],
  });
  const left = { asset: 'USDC', id: 'tiny', key: key.id, taken: '0', remainingBefore: '2', remainingAfter: '2' };
  expect(of('budget_exceeded')).toMatchObject({ outcome: 'deny', rule: null, budgets: [left] });
  expect(of('approval_required')).toMatchObject({ outcome: 'ask', rule: { key: key.id, index: 0 } });
  expect(of('key_frozen')).toMatchObject({ outcome: 'deny', rule: null });
  expect((await listOf(key, '&outcome=ask')).map(({ code }: { code: string }) => code)).toEqual(['approval_required']);
});

test('a payment that a policy asks about is recorded, also when the owner has too many questions', async () => {
  const key = await createKey(client, owner.key);
  await setPolicy(key, { rules: [{ effect: 'ask' }] });
  const answers: unknown[] = [];
  for (let asked = 1; asked <= 22; asked++) answers.push((await transfer(asked / 10, key.apiKey)).status);
  expect([answers[0], ...answers.slice(-2)]).toEqual([202, 409, 409]);
  const decisions = await until('all questions', async () => {
    const found = await listOf(key);
    return found.reduce((sum: number, one: { count: number }) => sum + one.count, 0) >= 22 && found;
  });
  for (const one of decisions) expect(one).toMatchObject({ outcome: 'ask', code: 'approval_required', posting: null });
});

test('a replay, a simulation and a payment that the balance does not cover leave no record', async () => {
  const key = await createKey(client, owner.key);
  await setPolicy(key, { rules: [{ effect: 'allow' }] });
  const once = { 'idempotency-key': 'the-only-one' };
  const first = await transfer(1, key.apiKey, once);
  expect(first).toMatchObject({ status: 200 });
  expect(await transfer(1, key.apiKey, once)).toMatchObject({ status: 200, body: first.body });
  expect(await transfer(100_000, key.apiKey)).toMatchObject({ body: { code: 'insufficient_balance' } });
  await setPolicy(key, { rules: [{ effect: 'deny' }] });
  // The stored response is sent, although the rules would now deny the payment.
  expect(await transfer(1, key.apiKey, once)).toMatchObject({ status: 200, body: first.body });
  const request = { to: friend.handle, amount: 1, currency: 'USDC' };
  const simulated = await client.post('/account/policy/simulate', { operation: 'transfer', request }, key.apiKey);
  expect(simulated).toMatchObject({ status: 200, body: { outcome: 'deny' } });
  // What comes after them is recorded, and they are not.
  expect(await transfer(2, key.apiKey)).toMatchObject({ body: { code: 'rule_denied' } });
  const decisions = await until('the refusal', async () => {
    const found = await listOf(key);
    return found.length > 1 && found;
  });
  expect(decisions.map((one: Record<string, unknown>) => [one['outcome'], one['amount'], one['count']])).toEqual([
    ['deny', '2', 1],
    ['allow', '1', 1],
  ]);
});

test('a payment that is rolled back leaves no record', async () => {
  const key = await createKey(client, owner.key);
  await setPolicy(key, { rules: [{ effect: 'allow' }] });
  const id = await invoice();
  const before = await count();
  await db.query(
    `CREATE FUNCTION refuse_paid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$`,
  );
  await db.query(
    `CREATE CONSTRAINT TRIGGER not_paid AFTER UPDATE ON invoices DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
       EXECUTE FUNCTION refuse_paid()`,
  );
  expect(await client.post(`/invoices/${id}/pay`, {}, key.apiKey)).toMatchObject({ status: 500 });
  await db.query('DROP TRIGGER not_paid ON invoices');
  expect(await count()).toBe(before);
  expect(await client.post(`/invoices/${id}/pay`, {}, key.apiKey)).toMatchObject({ status: 200 });
  expect(await listOf(key)).toHaveLength(1);
});

test('a key sees its own decisions and those of the keys below it', async () => {
  const all = await list(owner.key, '?limit=100');
  const own = await list(child.apiKey);
  const below = await list(grandchild.apiKey);
  expect(new Set(own.map(({ key }: { key: string }) => key))).toEqual(new Set([grandchild.id]));
  expect(below).toEqual(own);
  expect(all.length).toBeGreaterThan(own.length);
  const stranger = await createKey(client, owner.key);
  expect(await list(stranger.apiKey)).toEqual([]);
  expect(await list(stranger.apiKey, `?key=${grandchild.id}`)).toEqual([]);
  expect(await list(friend.key)).toEqual([]);
  const [{ id }] = own;
  for (const key of [stranger.apiKey, friend.key]) {
    const reply = await client.get(`/account/decisions/${id}/proof`, key);
    expect(reply).toMatchObject({ status: 404, body: { code: 'decision_not_found' } });
  }
});

test('pages continue where the one before has ended, and a period is a period', async () => {
  const all = await list(owner.key, '?limit=100');
  const paged: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: { decisions: unknown[]; nextCursor: string | null } } = await client.get(
      `/account/decisions?limit=7${cursor && `&cursor=${cursor}`}`,
      owner.key,
    );
    paged.push(...body.decisions);
    cursor = body.nextCursor;
  }
  expect(paged).toEqual(all);
  const { at } = all[5];
  const since = await list(owner.key, `?limit=100&since=${at}`);
  const before = await list(owner.key, `?limit=100&until=${at}`);
  expect(since.length + before.length).toBe(all.length);
  expect(since.map(({ at: when }: { at: string }) => when >= at)).not.toContain(false);
});

test('the database refuses to change, remove, skip or forge a record', async () => {
  await until('all to be chained', async () => (await db.query('SELECT FROM decisions_waiting')).rowCount === 0);
  const refused = { code: '23514' };
  await expect(db.query("UPDATE policy_decisions SET record = '{}'")).rejects.toMatchObject(refused);
  await expect(db.query('DELETE FROM policy_decisions')).rejects.toMatchObject(refused);
  await expect(db.query('TRUNCATE policy_decisions CASCADE')).rejects.toMatchObject(refused);
  const copy = (seq: string, head: string) =>
    db.query(
      `INSERT INTO policy_decisions SELECT account_id, ${seq}, gen_random_uuid(), key_id, outcome, at, record, ${head}
         FROM policy_decisions WHERE seq = 1`,
    );
  await expect(copy('(SELECT max(seq) + 1 FROM policy_decisions)', 'head')).rejects.toMatchObject(refused);
  await expect(copy('(SELECT max(seq) + 2 FROM policy_decisions)', 'head')).rejects.toMatchObject(refused);
  expect((await verifyLedger(db)).problems).toEqual([]);
});
