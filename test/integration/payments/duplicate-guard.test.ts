import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Client, Reply, TestAccount } from '../../support/client.ts';
import { createKey } from '../../support/key-tree.ts';
import { mug } from '../../support/mug.ts';
import { openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

/** 100 by command: `LOST_RESPONSES=100 npm test -- test/integration/payments/duplicate-guard.test.ts`. */
const lostResponses = Number(process.env['LOST_RESPONSES'] ?? 10);

let client: Client;
let agent: TestAccount;
let friend: TestAccount;
let keys = 0;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  agent = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 500 }, agent.key)).status).toBe(200);
});

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
interface Operation {
  /** The path and the body of one more such payment. */
  readonly ask: () => Promise<{ readonly path: string; readonly body: object }>;
  readonly idOf: (paid: Reply['body']) => string;
  /** How many of them there are. */
  readonly count: string;
}

const fixed = (path: string, body: () => object) => async () => ({ path, body: body() });
const paidAs = (type: string) =>
  `SELECT count(*) FROM ledger.postings p JOIN accounts a ON a.id = p.sender_id WHERE a.handle = $1 AND ${type}`;
const rowsOf = (table: string) =>
  `SELECT count(*) FROM ${table} t JOIN accounts a ON a.id = t.account_id WHERE a.handle = $1`;

const operations: Readonly<Record<string, Operation>> = {
  transfer: {
    ask: fixed('/agent/transfer', () => ({ to: friend.handle, amount: 7, currency: 'USDC' })),
    idOf: ({ transferId }) => transferId,
    count: paidAs(`p.type = 'transfer'`),
  },
  'invoice payment': {
    // An invoice is paid once. A seller who is asked again sends another one.
    async ask() {
      const invoice = { toHandle: agent.handle, amount: 7, currency: 'USDC', description: 'Lunch' };
      const { body } = await client.post('/invoices', invoice, friend.key);
      return { path: `/invoices/${body.id}/pay`, body: {} };
    },
    idOf: ({ transferId }) => transferId,
    count: paidAs(`p.type = 'transfer'`),
  },
  withdrawal: {
    ask: fixed('/circle/withdraw', () => ({ amount: 20, address: outside })),
    idOf: ({ txId }) => txId,
    count: rowsOf('withdrawals'),
  },
  bridge: {
    ask: fixed('/cross-chain/transfer', () => ({ from: 'MATIC', to: 'BASE', amount: '5' })),
    idOf: ({ transferId }) => transferId,
    count: rowsOf('bridges'),
  },
  swap: {
    ask: fixed('/swap/execute', () => ({ from: 'USDC', to: 'ETH', amount: '5' })),
    idOf: ({ txId }) => txId,
    count: rowsOf('swaps'),
  },
  order: { ask: fixed('/shopping/buy', () => mug), idOf: ({ orderId }) => orderId, count: rowsOf('orders') },
};

const guardOn = { 'duplicate-guard': 'on' };

async function pay(
  { ask }: Operation,
  more: object = {},
  headers: Record<string, string> = guardOn,
  key = agent.key,
): Promise<Reply> {
  const { path, body } = await ask();
  const claim = { 'idempotency-key': `key ${++keys}` };
  return client.request('POST', path, { key, body: { ...body, ...more }, headers: { ...claim, ...headers } });
}

async function newAskingKey(): Promise<string> {
  const key = await createKey(client, agent.key);
  const body = { rules: [{ effect: 'ask' }] };
  const put = await client.request('PUT', `/account/keys/${key.id}/policy`, { key: agent.key, body });
  expect(put.status).toBe(200);
  return key.apiKey;
}

async function approve(approvalId: string) {
  const browser = openOwnerBrowser(service.url);
  await browser.signIn(agent);
  await browser.get(`/approve/${approvalId}`);
  await browser.submit(`/approve/${approvalId}`);
  return browser.get(`/approve/${approvalId}`);
}

async function approvals(): Promise<number> {
  return count({ count: rowsOf('approvals') });
}

async function count({ count: text }: Pick<Operation, 'count'>): Promise<number> {
  const { rows } = await service.database.db.query<{ count: bigint }>(text, [agent.handle]);
  return Number(rows[0]?.count);
}

const isPaid = ({ status }: Reply) => status === 200 || status === 202;
const repeats = (id: string) => ({
  status: 409,
  body: {
    code: 'possible_duplicate',
    duplicateOf: { id, status: expect.any(String), createdAt: expect.stringMatching(/Z$/) },
  },
});

describe.each(Object.entries(operations))('a guarded %s', (_name, operation) => {
  test('is not repeated under another key, and once more when its request says so', async () => {
    const paid = await pay(operation);
    expect(paid, JSON.stringify(paid.body)).toSatisfy(isPaid);
    const first = operation.idOf(paid.body);
    for (let lost = 0; lost < lostResponses; lost++) expect(await pay(operation)).toMatchObject(repeats(first));
    expect(await count(operation)).toBe(1);
    expect(await pay(operation, { notDuplicateOf: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x' })).toMatchObject(repeats(first));

    // An instance whose clock is behind gives it an id that looks older.
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 60_000);
    const again = await pay(operation, { notDuplicateOf: first }, {}).finally(() => clock.mockRestore());
    expect(again, JSON.stringify(again.body)).toSatisfy(isPaid);
    const second = operation.idOf(again.body);
    // Now the newer one is the newest.
    expect(await pay(operation, { notDuplicateOf: first })).toMatchObject(repeats(second));
    expect(await pay(operation)).toMatchObject(repeats(second));
    expect(await count(operation)).toBe(2);
  });

  test('is made once when several ask at the same time', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => pay(operation)));
    expect(replies.filter(isPaid), JSON.stringify(replies.map(({ body }) => body))).toHaveLength(1);
    const id = operation.idOf(replies.find(isPaid)?.body);
    for (const reply of replies) if (!isPaid(reply)) expect(reply).toMatchObject(repeats(id));
    expect(await count(operation)).toBe(1);
  });
});

describe('the guard', () => {
  const transfer = operations['transfer'] as Operation;
  const withdrawal = operations['withdrawal'] as Operation;

  test('is off unless it is asked for', async () => {
    for (let made = 1; made <= 3; made++) expect((await pay(transfer, {}, {})).status).toBe(200);
    expect((await pay(transfer, {}, { 'duplicate-guard': 'off' })).status).toBe(200);
    // It looks at all payments, guarded or not.
    expect((await pay(transfer)).body.code).toBe('possible_duplicate');
    expect(await pay(transfer, {}, { 'duplicate-guard': 'maybe' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  test('can be asked for by a web page', async () => {
    const headers = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'duplicate-guard' };
    const preflight = await client.request('OPTIONS', '/agent/transfer', { headers });
    const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase();
    expect(allowed?.split(', ')).toContain('duplicate-guard');
  });

  test('answers a retry under the same key with the first response', async () => {
    const headers = { 'duplicate-guard': 'on', 'idempotency-key': 'the same' };
    const first = await pay(transfer, {}, headers);
    const again = await pay(transfer, {}, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('lets pass what differs in recipient, amount, currency or operation', async () => {
    expect((await client.post('/sandbox/fund', { amount: 50, currency: 'EURC' }, agent.key)).status).toBe(200);
    const other = await client.register();
    for (const more of [{}, { amount: 7.01 }, { currency: 'EURC' }, { to: other.handle }]) {
      expect((await pay(transfer, more)).status, JSON.stringify(more)).toBe(200);
    }
    expect((await pay(operations['invoice payment'] as Operation)).status).toBe(200);
    // What another account pays is its own affair.
    [agent, friend] = [friend, agent];
    expect((await client.post('/sandbox/fund', { amount: 500 }, agent.key)).status).toBe(200);
    expect((await pay(transfer)).status).toBe(200);
  });

  test('does not look at the words of a payment, nor at how its amount is written', async () => {
    expect((await pay(transfer, { description: 'Lunch' })).status).toBe(200);
    expect((await pay(transfer, { description: 'Dinner', amount: '7.000' })).body.code).toBe('possible_duplicate');
  });

  test('is turned on for an account, and off again', async () => {
    const set = (duplicateGuard: boolean) => client.patch('/account', { duplicateGuard }, agent.key);
    expect((await client.get('/account', agent.key)).body.duplicateGuard).toBe(false);
    expect((await set(true)).body.duplicateGuard).toBe(true);
    expect((await pay(transfer, {}, {})).status).toBe(200);
    expect((await pay(transfer, {}, {})).body.code).toBe('possible_duplicate');
    // A request cannot lift what the account wants.
    expect((await pay(transfer, {}, { 'duplicate-guard': 'off' })).body.code).toBe('possible_duplicate');
    await set(true);
    expect((await set(false)).body.duplicateGuard).toBe(false);
    expect((await pay(transfer, {}, {})).status).toBe(200);
    const { entries } = (await client.get('/account/audit', agent.key)).body;
    const told = entries.map(({ action }: { action: string }) => action).filter((name: string) => /guard/.test(name));
    expect(told).toEqual(['duplicate_guard.off', 'duplicate_guard.on']);
  });

  test('does not count what was cancelled', async () => {
    const hold = await pay(withdrawal);
    const id = withdrawal.idOf(hold.body);
    await until('the end of the withdrawal', async () => {
      const { body } = await client.get(`/circle/withdrawals/${id}`, agent.key);
      return body.status === 'complete';
    });
    // As if an operator had cancelled it: nothing advances it any more.
    await service.database.db.transaction(async (tx) => {
      await tx.query('ALTER TABLE withdrawals DISABLE TRIGGER USER');
      await tx.query(`UPDATE withdrawals SET status = 'cancelled' WHERE id = $1`, [id]);
      await tx.query('ALTER TABLE withdrawals ENABLE TRIGGER USER');
    });
    expect(isPaid(await pay(withdrawal))).toBe(true);
  });

  test('ends after ten minutes, also for an account that was guarded long before', async () => {
    const { db } = service.database;
    const months = await db.query<{ name: string }>(
      `SELECT 'ledger.postings' AS name UNION ALL SELECT 'ledger.postings_' || name FROM ledger.months`,
    );
    const each = (change: (name: string) => string) =>
      Promise.all(months.rows.map(({ name }) => db.query(change(name))));
    const mine = `(SELECT a.id FROM accounts a WHERE a.handle = '${agent.handle}')`;
    /** As if the account had done everything that much earlier. */
    async function pass(time: string) {
      await each((name) => `ALTER TABLE ${name} DISABLE TRIGGER append_only`);
      await db.query(
        `UPDATE ledger.postings SET posted_at = posted_at - interval '${time}' WHERE sender_id = ${mine} AND type = 'transfer'`,
      );
      await each((name) => `ALTER TABLE ${name} ENABLE ALWAYS TRIGGER append_only`);
      await db.query(
        `UPDATE ledger.guarded_payments SET posted_at = posted_at - interval '${time}' WHERE payer >> 14 = ${mine}`,
      );
      await db.query(`UPDATE ledger.guarded_payers SET since = since - interval '${time}' WHERE payer >> 14 = ${mine}`);
    }
    const asking = await newAskingKey();
    /** The guard of a payment that its owner is asked about sees the same. */
    async function expectRepeated(first: Reply) {
      const refusal = repeats(transfer.idOf(first.body));
      expect(await pay(transfer, {}, guardOn, asking)).toMatchObject(refusal);
      expect(await pay(transfer)).toMatchObject(refusal);
    }
    async function expectPaid() {
      expect((await pay(transfer, {}, guardOn, asking)).status).toBe(202);
      expect((await pay(transfer)).status).toBe(200);
    }
    // The first guarded payment finds what was paid before it, without a guard.
    const first = await pay(transfer, {}, {});
    await pass('9 minutes 50 seconds');
    await expectRepeated(first);
    await pass('10 seconds');
    await expectPaid();

    await pass('1 hour');
    const unguarded = await pay(transfer, {}, {});
    await expectRepeated(unguarded);
    const many = await Promise.all([9, 9, 8].map((amount) => pay(transfer, { amount })));
    expect(many.map(({ status }) => status).toSorted()).toEqual([200, 200, 409]);
    await pass('9 minutes 50 seconds');
    await expectRepeated(unguarded);
    await pass('10 seconds');
    await expectPaid();
  });

  test('lets the owner approve a payment that is meant once more, also while the first question is open', async () => {
    const key = await newAskingKey();
    const ask = (more: object) => pay(transfer, more, guardOn, key);
    const open = await ask({});
    expect((await ask({})).body.approvalId).toBe(open.body.approvalId);
    const paid = await pay(transfer);
    const { approvalId } = (await ask({ notDuplicateOf: transfer.idOf(paid.body) })).body;
    await approve(approvalId);
    expect((await client.get(`/approvals/${approvalId}`, key)).body.status).toBe('executed');
    expect(await count(transfer)).toBe(2);
  });
});

describe.each(Object.entries(operations))('with a key that asks its owner, a guarded %s', (_name, operation) => {
  test('that repeats another one is refused, and asked about only when it is meant', async () => {
    const key = await newAskingKey();
    const first = operation.idOf((await pay(operation, {}, {})).body);
    expect(await pay(operation, {}, guardOn, key)).toMatchObject(repeats(first));
    expect(await approvals()).toBe(0);
    const meant = await pay(operation, { notDuplicateOf: first }, guardOn, key);
    expect(meant).toMatchObject({ status: 202, body: { status: 'approval_required' } });
    // Now both a guarded and an unguarded payment are known.
    expect((await approve(meant.body.approvalId)).status).toBe(200);
    const { body } = await client.get(`/approvals/${meant.body.approvalId}`, key);
    expect(body.status).toBe('executed');
    expect(await pay(operation, { notDuplicateOf: first }, guardOn, key)).toMatchObject(
      repeats(operation.idOf(body.result.body)),
    );
    expect(await approvals()).toBe(1);
    expect(await count(operation)).toBe(2);
  });

  test('is answered again under its Idempotency-Key', async () => {
    const { path, body } = await operation.ask();
    const headers = { ...guardOn, 'idempotency-key': `key ${++keys}` };
    const send = (key: string) => client.request('POST', path, { key, body, headers });
    const key = await newAskingKey();
    const asked = await send(key);
    await approve(asked.body.approvalId);
    const again = await send(key);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual((await client.get(`/approvals/${asked.body.approvalId}`, key)).body.result.body);
  });

  test('fails with the other payment in its reason when that was made while the owner was asked', async () => {
    const key = await newAskingKey();
    const { approvalId } = (await pay(operation, {}, guardOn, key)).body;
    const paid = await pay(operation);
    expect(paid, JSON.stringify(paid.body)).toSatisfy(isPaid);
    const { text } = await approve(approvalId);
    const id = operation.idOf(paid.body);
    expect(text).toContain(id);
    const { body } = await client.get(`/approvals/${approvalId}`, key);
    expect(body).toMatchObject({ status: 'failed', reason: { code: 'possible_duplicate' } });
    expect(body.reason.detail).toMatch(new RegExp(`less than ten minutes ago: ${id}[.,]`));
    expect(body.reason.detail).not.toContain('`duplicateOf`');
    expect(await count(operation)).toBe(1);
  });
});
