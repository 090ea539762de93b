import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client, TestAccount } from '../../support/client.ts';
import { createKey, millionths, type TestKey } from '../../support/key-tree.ts';
import { type Service, startService, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// Two processes post payments of the same keys, and both chain records.
const settings = { decisions: { windowMs: 100 } };
const service = useService({ settings });
const { db } = service.database;

let beside: Service;
let client: Client;
let owner: TestAccount;
let friend: TestAccount;

beforeAll(async () => {
  client = service.client;
  beside = await startService(service.database, { settings });
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 5_000 }, owner.key)).status).toBe(200);
  expect((await client.post('/sandbox/fund', { amount: 500, currency: 'EURC' }, owner.key)).status).toBe(200);
});

afterAll(() => beside.stop());

interface RecordedBudget {
  readonly id: string;
  readonly key: string;
  readonly remainingBefore: string;
  readonly remainingAfter: string;
  readonly taken: string;
}

interface Recorded {
  readonly outcome: string;
  readonly posting: string | null;
  readonly code: string | null;
  readonly budgets: readonly RecordedBudget[];
}

async function setBudgets({ id }: TestKey, ...budgets: object[]): Promise<void> {
  const reply = await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body: { budgets } });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
}

const pay = ({ apiKey }: TestKey, amount: number, { currency = 'USDC', by = client, headers = {} } = {}) =>
  by.request('POST', '/agent/transfer', { key: apiKey, headers, body: { to: friend.handle, amount, currency } });

async function recordsOf({ id }: TestKey): Promise<Recorded[]> {
  return (await client.get(`/account/decisions?limit=100&key=${id}`, owner.key)).body.decisions;
}

/** Of every budget, what each of its records says: remaining before and after, from the first one on. */
function stepsOf(records: readonly Recorded[], budget: string): (readonly [bigint, bigint])[] {
  const found = records.flatMap(({ budgets }) => budgets.filter(({ id }) => id === budget));
  for (const { remainingBefore, remainingAfter, taken } of found)
    expect(millionths(remainingBefore) - millionths(taken)).toBe(millionths(remainingAfter));
  const steps = found.map(
    ({ remainingBefore, remainingAfter }) => [millionths(remainingBefore), millionths(remainingAfter)] as const,
  );
  return steps.toSorted(([, one], [, other]) => (one < other ? 1 : -1));
}

/** Each begins where the one before has ended. */
function expectUnbroken(steps: readonly (readonly [bigint, bigint])[], from: bigint): bigint {
  let left = from;
  for (const [before, after] of steps) {
    expect(before).toBe(left);
    left = after;
  }
  return left;
}

const spentOf = async (name: string): Promise<bigint> =>
  BigInt(
    (await db.query<{ spent: string }>('SELECT spent::text FROM ledger.budget_windows WHERE name = $1', [name])).rows[0]
      ?.spent ?? -1,
  );

test('what two processes take of the same budgets is recorded without a gap', { timeout: 60_000 }, async () => {
  const parent = await createKey(client, owner.key);
  const [one, other] = [await createKey(client, owner.key, parent), await createKey(client, owner.key, parent)];
  await setBudgets(
    parent,
    { id: 'shared-day', amount: 60, currency: 'USDC', window: 'day' },
    { id: 'shared-hour', amount: 1_000, currency: 'EURC', window: 'rolling', seconds: 3_600 },
  );
  await setBudgets(one, { id: 'own', amount: 25, currency: 'USDC', window: 'once' });
  const paid = await Promise.all(
    Array.from({ length: 90 }, (_, index) =>
      pay(index % 3 === 0 ? one : other, 1 + (index % 7) / 10, {
        by: index % 2 === 0 ? client : beside.client,
        currency: index % 5 === 0 ? 'EURC' : 'USDC',
      }),
    ),
  );
  const posted = paid.filter(({ status }) => status === 200).map(({ body }) => body.transferId);
  expect(new Set(paid.map(({ status, body }) => (status === 200 ? 'paid' : body.code)))).toEqual(
    new Set(['paid', 'budget_exceeded']),
  );
  const all = [...(await recordsOf(one)), ...(await recordsOf(other))];
  const allowed = all.filter(({ outcome }) => outcome === 'allow');
  expect(allowed.map(({ posting }) => posting).toSorted()).toEqual(posted.toSorted());
  for (const [budget, most] of [
    ['shared-day', 60_000_000n],
    ['shared-hour', 1_000_000_000n],
    ['own', 25_000_000n],
  ] as const) {
    const left = expectUnbroken(stepsOf(allowed, budget), most);
    expect(most - left, budget).toBe(await spentOf(budget));
  }
});

test('a window that has passed, and a limit that was lowered and raised, are seen in the next record', async () => {
  const key = await createKey(client, owner.key);
  const rolling = { id: 'rolling', currency: 'USDC', window: 'rolling', seconds: 60 };
  await setBudgets(key, { ...rolling, amount: 10 }, { id: 'daily', amount: 100, currency: 'USDC', window: 'day' });
  const last = async () =>
    Object.fromEntries((await recordsOf(key))[0]?.budgets.map((one) => [one.id, one.remainingBefore]) ?? []);
  expect((await pay(key, 4)).status).toBe(200);
  expect((await pay(key, 3)).status).toBe(200);
  expect(await last()).toEqual({ rolling: '6', daily: '96' });
  // A minute and a day later.
  await db.query(
    `UPDATE ledger.budget_counts c SET bucket_until = NULL, bucket = c.bucket - CASE b.name WHEN 'rolling' THEN 62 ELSE 1 END
       FROM ledger.budgets b WHERE b.id = c.budget`,
  );
  await db.query("UPDATE ledger.budgets SET nos = ARRAY(SELECT no - 62 FROM unnest(nos) no) WHERE name = 'rolling'");
  expect((await pay(key, 2)).status).toBe(200);
  expect(await last()).toEqual({ rolling: '10', daily: '100' });
  await setBudgets(key, { ...rolling, amount: 1 }, { id: 'daily', amount: 100, currency: 'USDC', window: 'day' });
  expect((await pay(key, 1)).body.code).toBe('budget_exceeded');
  const refused = await until('the refusal', async () =>
    (await recordsOf(key)).find(({ outcome }) => outcome === 'deny'),
  );
  expect(refused.budgets).toMatchObject([{ id: 'rolling', remainingBefore: '0', remainingAfter: '0', taken: '0' }]);
  await setBudgets(key, { ...rolling, amount: 20 });
  expect((await pay(key, 5)).status).toBe(200);
  expect(await last()).toEqual({ rolling: '18' });
});

test('one Idempotency-Key at two processes leaves one record', async () => {
  const key = await createKey(client, owner.key);
  await setBudgets(key, { id: 'few', amount: 50, currency: 'USDC', window: 'day' });
  for (const name of ['a', 'b', 'c']) {
    const headers = { 'idempotency-key': `once-${name}` };
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => pay(key, 2, { headers, by: index % 2 === 0 ? client : beside.client })),
    );
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.transferId}`)).size).toBe(1);
  }
  const records = await recordsOf(key);
  expect(records).toHaveLength(3);
  expect(expectUnbroken(stepsOf(records, 'few'), 50_000_000n)).toBe(44_000_000n);
});

test('records of one key share a template, and one that is lost is stored again', async () => {
  const key = await createKey(client, owner.key);
  await setBudgets(key, { id: 'daily', amount: 100, currency: 'USDC', window: 'day' });
  const payEverywhere = async () => {
    const paid = await Promise.all([client, beside.client, client, beside.client].map((by) => pay(key, 2, { by })));
    for (const { status, body } of paid) expect(status, JSON.stringify(body)).toBe(200);
  };
  const templates = async () =>
    (await db.query('SELECT id FROM decision_templates WHERE key_id = $1 ORDER BY id', [key.id])).rows;
  await payEverywhere();
  const stored = await templates();
  expect(stored).toHaveLength(1);
  await until('all to be chained', async () => (await db.query('SELECT FROM decisions_waiting')).rowCount === 0);

  await expect(db.query('DELETE FROM decision_templates')).rejects.toThrow('never changed or removed');
  await db.transaction(async (tx) => {
    await tx.query('ALTER TABLE decision_templates DISABLE TRIGGER decision_templates_stay');
    await tx.query('DELETE FROM decision_templates WHERE key_id = $1', [key.id]);
    await tx.query('ALTER TABLE decision_templates ENABLE TRIGGER decision_templates_stay');
  });
  await payEverywhere();
  expect(await templates()).toEqual(stored);
  await until('eight records', async () => (await recordsOf(key)).length === 8);
  expect(expectUnbroken(stepsOf(await recordsOf(key), 'daily'), 100_000_000n)).toBe(84_000_000n);
  await expect(
    db.query('INSERT INTO decision_templates SELECT gen_random_uuid(), key_id, form FROM decision_templates'),
  ).rejects.toThrow('violates check constraint');
});
