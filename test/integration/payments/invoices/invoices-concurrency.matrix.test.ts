import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import type { Reply, TestAccount } from '../../../support/client.ts';
import { useInvoices } from '../../../support/invoices.ts';
import { isMatrix } from '../../../support/matrix.ts';
import { type Service, startService, useStartedDatabase } from '../../../support/service.ts';

/** How often a race is run; who wins is another one each time. */
const rounds = isMatrix ? { pay: 15, cancel: 40, oneKey: 10, revoke: 8 } : { pay: 4, cancel: 10, oneKey: 4, revoke: 3 };

const database = useStartedDatabase();
let instances: [Service, Service];
beforeAll(async () => {
  instances = [await startService(database), await startService(database)];
});
afterAll(async () => {
  for (const instance of instances ?? []) await instance.stop();
});

const { funded, ask, balanceOf } = useInvoices(() => instances[0].client);

/** The n-th of a crowd: they take turns at the two instances. */
function act(n: number, step: 'pay' | 'cancel', { key }: TestAccount, id: string, idempotencyKey?: string) {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const instance = instances[n % 2] as Service;
  return instance.client.request('POST', `/invoices/${id}/${step}`, { key, headers });
}

const crowd = <Result>(size: number, each: (n: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: size }, (_, n) => each(n)));

const won = ({ status }: Reply) => status === 200;

/** What happened to its money, straight from the ledger. */
async function postingsOf(id: string): Promise<number> {
  const { rows } = await database.db.query<{ count: bigint }>(
    "SELECT count(*) FROM ledger.postings WHERE details->>'invoiceId' = $1",
    [id],
  );
  return Number(rows[0]?.count);
}

describe('of many at once, on two instances, exactly one wins', () => {
  test('when they all pay', async () => {
    const payer = await funded(1_000);
    for (let round = 0; round < rounds.pay; round++) {
      const sender = await instances[0].client.register();
      const { id } = (await ask(sender, { toHandle: payer.handle }, { amount: 10 })).body;
      const replies = await crowd(12, (n) => act(n, 'pay', payer, id));
      expect(replies.filter(won)).toHaveLength(1);
      for (const { status, body } of replies.filter((reply) => !won(reply))) {
        expect([status, body.code]).toEqual([409, 'invoice_already_paid']);
      }
      expect(await balanceOf(sender)).toMatchObject({ USDC: '9.85', EURC: '0' });
      expect(await postingsOf(id)).toBe(1);
    }
    expect(await balanceOf(payer)).toMatchObject({ USDC: String(1_000 - 10 * rounds.pay), EURC: '0' });
  });

  test('when they pay and cancel', async () => {
    const [payer, sender] = [await funded(1_000), await instances[0].client.register()];
    const ends = { paid: 0, cancelled: 0 };
    for (let round = 0; round < rounds.cancel; round++) {
      const { id } = (await ask(sender, { toHandle: payer.handle }, { amount: 10 })).body;
      // Whoever is called first has a head start, so they take turns at that too.
      const replies = await crowd(6, (n) =>
        (n + round) % 2 === 0 ? act(n, 'pay', payer, id) : act(n + 1, 'cancel', sender, id),
      );
      const [winner, ...others] = replies.filter(won);
      expect(others).toEqual([]);
      const end = winner?.body.status as 'paid' | 'cancelled';
      ends[end]++;
      for (const { status, body } of replies.filter((reply) => !won(reply))) {
        expect([status, body.code]).toEqual([409, `invoice_already_${end}`]);
      }
      expect((await instances[1].client.get(`/invoices/${id}`, sender.key)).body.status).toBe(end);
      expect(await postingsOf(id)).toBe(end === 'paid' ? 1 : 0);
    }
    expect(ends.paid + ends.cancelled).toBe(rounds.cancel);
    expect(await balanceOf(payer)).toMatchObject({ USDC: String(1_000 - 10 * ends.paid), EURC: '0' });
  });

  test('with one Idempotency-Key, where all who are not told to wait get the same answer', async () => {
    const [payer, sender] = [await funded(100), await instances[0].client.register()];
    for (let round = 0; round < rounds.oneKey; round++) {
      const { id } = (await ask(sender, { toHandle: payer.handle }, { amount: 5 })).body;
      const replies = await crowd(8, (n) => act(n, 'pay', payer, id, `round ${round}`));
      const answers = replies.filter(won).map(({ body }) => body.transferId);
      expect(new Set(answers).size).toBe(1);
      for (const { status, body } of replies.filter((reply) => !won(reply))) {
        expect([status, body.code]).toEqual([409, 'idempotency_in_progress']);
      }
      expect(await postingsOf(id)).toBe(1);
    }
    expect(await balanceOf(payer)).toMatchObject({ USDC: String(100 - 5 * rounds.oneKey), EURC: '0' });
  });
});

test('a balance that covers three of ten invoices pays exactly three', async () => {
  const payer = await funded(30);
  const senders = await crowd(10, () => instances[0].client.register());
  const ids: string[] = await crowd(10, async (n) => {
    return (await ask(senders[n] as TestAccount, { toHandle: payer.handle }, { amount: 10 })).body.id;
  });
  const replies = await crowd(10, (n) => act(n, 'pay', payer, ids[n] as string));
  expect(replies.filter(won)).toHaveLength(3);
  for (const { status, body } of replies.filter((reply) => !won(reply))) {
    expect([status, body.code]).toEqual([400, 'insufficient_balance']);
  }
  const { body } = await instances[1].client.get('/invoices?status=pending', payer.key);
  expect(body.invoices).toHaveLength(7);
  expect(await balanceOf(payer)).toMatchObject({ USDC: '0', EURC: '0' });
});

test('two who owe each other pay at once, beside transfers and revocations, and nobody waits for ever', async () => {
  const people = await Promise.all([funded(1_000), funded(1_000), funded(1_000)]);
  const pairs = people.flatMap((from) => people.filter((to) => to !== from).map((to) => ({ from, to })));
  const asked = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const { from, to } = pairs[n % pairs.length] as (typeof pairs)[number];
      return { id: (await ask(from, { toHandle: to.handle }, { amount: 1 })).body.id as string, payer: to, from };
    }),
  );
  const extraKeys = await Promise.all(
    people.map(async ({ email, password }) => {
      const { body } = await instances[0].client.post('/agent/register', { email, password });
      return body.apiKey as string;
    }),
  );
  const [replies] = await Promise.all([
    Promise.all(asked.map(({ id, payer }, n) => act(n, 'pay', payer, id, n % 3 === 0 ? `x${n}` : undefined))),
    Promise.all(
      pairs.map(({ from, to }) =>
        instances[1].client.post('/agent/transfer', { to: to.handle, amount: 1, currency: 'USDC' }, from.key),
      ),
    ),
    Promise.all(extraKeys.map((key) => instances[1].client.post('/account/revoke-key', undefined, key))),
  ]);
  expect(replies.map(({ status }) => status)).toEqual(Array(60).fill(200));
});

test('a key is revoked while it pays: what was answered before stands, and nothing is paid afterwards', async () => {
  const sender = await instances[0].client.register();
  for (let round = 0; round < rounds.revoke; round++) {
    const payer = await funded(100);
    const ids: string[] = await crowd(8, async () => {
      return (await ask(sender, { toHandle: payer.handle }, { amount: 1 })).body.id;
    });
    const paying = crowd(8, (n) => act(n, 'pay', payer, ids[n] as string));
    const revoked = await instances[round % 2]?.client.post('/account/revoke-key', undefined, payer.key);
    expect(revoked?.status).toBe(200);
    const { rows } = await database.db.query<{ count: bigint }>(
      "SELECT count(*) FROM invoices WHERE id = ANY ($1) AND status = 'paid'",
      [ids],
    );
    const replies = await paying;
    expect(replies.filter(won).length).toBe(Number(rows[0]?.count));
    for (const { status } of replies.filter((reply) => !won(reply))) expect(status).toBe(401);
  }
});

test('after all that the ledger is sound, and every paid invoice has its posting', async () => {
  expect((await verifyLedger(database.db)).problems).toEqual([]);
  const { rows } = await database.db.query<{ invoices: bigint; postings: bigint }>(
    `SELECT (SELECT count(*) FROM invoices WHERE status = 'paid') AS invoices,
            (SELECT count(*) FROM ledger.postings WHERE reference LIKE 'invoice:%') AS postings`,
  );
  expect(rows[0]?.invoices).toBe(rows[0]?.postings);
});
