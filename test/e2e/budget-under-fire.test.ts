import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { privateKeyToAddress } from 'viem/accounts';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../sandbox/postgres.ts';
import { type Database, onlyRow, openDatabase } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { chainIds } from '../../src/money/catalogue.ts';
import { type Instance, startInstances } from '../support/instances.ts';
import { accountIdOf, createKey, decimal, limitKey, millionths } from '../support/key-tree.ts';
import { fund } from '../support/ledger.ts';
import { preparedDataDir } from '../support/prepared-data-dir.ts';
import { postgresPid } from '../support/process.ts';
import { until } from '../support/until.ts';

/** `BUDGET_PAYMENTS=10000 npm test -- test/e2e/budget-under-fire.test.ts`. One in twenty opens a saga. */
const paymentCount = Number(process.env.BUDGET_PAYMENTS ?? 1_000);
const sagaCount = paymentCount / 20;
const clientCount = Math.min(paymentCount / 4, 500);
const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);

/** A PostgreSQL that the test may kill: what was committed survives that, though not a power cut. */
async function startPostgres() {
  const dataDir = await preparedDataDir();
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } });
  const db = openDatabase({ url: postgres.url, poolSize: 4, logger: createLogger('silent') });
  onTestFinished(async () => {
    await db.close();
    await postgres.stop();
  });
  const startedAt = async () =>
    onlyRow(await db.query<{ at: string }>('SELECT pg_postmaster_start_time()::text AS at')).at;
  return {
    db,
    url: postgres.url,
    async killAndRestart() {
      const before = await startedAt();
      process.kill(postgresPid(dataDir) ?? 0, 'SIGKILL');
      // The sessions of the killed server may answer for a moment longer.
      await until('PostgreSQL to be back', async () => (await startedAt().catch(() => before)) !== before);
    },
  };
}

/** An account with money, whose agent has a key with a budget and a few keys below that. */
async function openAccount(db: Database, { client }: Instance, limit: bigint) {
  const [payer, payee] = [await client.register(), await client.register()];
  const ledger = createLedger({ db, logger: createLogger('silent') });
  await fund(ledger, [{ id: await accountIdOf(db, payer) }], 10n ** 12n);
  await ledger.stop();
  const agent = await createKey(client, payer.key);
  await limitKey(client, payer.key, agent, limit);
  const below = [await createKey(client, payer.key, agent), await createKey(client, payer.key, agent)];
  const deepest = await createKey(client, payer.key, below[0]);
  return { payee, agent, keys: [agent, ...below, deepest].map(({ apiKey }) => apiKey) };
}

interface Payment {
  readonly idempotencyKey: string;
  readonly amount: bigint;
  readonly path: string;
  readonly body: object;
}

/** Any amount down to a millionth, so that some fit until the very end. A withdrawal is at least 1 USDC. */
function makePayments(): readonly Omit<Payment, 'body'>[] {
  return Array.from({ length: paymentCount }, (_, index) => {
    const opensSaga = index % (paymentCount / sagaCount) === 0;
    return {
      idempotencyKey: `payment ${index}`,
      amount: BigInt(opensSaga ? randomInt(1_000_000, 3_000_000) : randomInt(1, 2_000_000)),
      path: opensSaga ? '/circle/withdraw' : '/agent/transfer',
    };
  });
}

interface Refusal {
  readonly amount: bigint;
  readonly remaining: bigint;
  /** What the budget had at most when the refused request was sent, by what was acknowledged until then. */
  readonly most: bigint;
}

/** After these, and after no answer at all, the same request is sent again. */
const again = new Set(['unavailable', 'outcome_unknown', 'idempotency_in_progress']);

/**
 * Careful clients: each sends its payment to any instance, with the same key until there is an answer. One in ten does not wait for
 * the first answer: the same payment is then under way twice.
 */
function openClients(instances: readonly Instance[], keys: readonly string[], limit: bigint) {
  const acknowledged: string[] = [];
  const refusals: Refusal[] = [];
  const waiting: { readonly answers: number; go(): void }[] = [];
  const abandoned: Promise<unknown>[] = [];
  const any = <One>(list: readonly One[]) => list[randomInt(list.length)] as One;
  let [sum, lost, replayed] = [0n, 0, 0];

  async function pay({ path, body, amount, idempotencyKey }: Payment): Promise<void> {
    const headers = { 'idempotency-key': idempotencyKey };
    for (let attempt = 1; ; attempt++) {
      const most = limit - sum;
      const asked = any(instances)
        .client.request('POST', path, { key: any(keys), body, headers })
        .catch(() => undefined);
      const losesPatience = attempt === 1 && randomInt(10) === 0;
      const reply = await (losesPatience ? Promise.race([asked, answered(1)]) : asked);
      if (losesPatience) abandoned.push(asked);
      if (reply?.status === 200) {
        sum += amount;
        acknowledged.push(reply.body.transferId ?? reply.body.txId);
        if (reply.headers.has('idempotency-replayed')) replayed++;
        return;
      }
      if (reply?.body.code === 'budget_exceeded') {
        refusals.push({ amount, remaining: millionths(reply.body.remaining), most });
        return;
      }
      if (reply !== undefined && !again.has(reply.body.code)) throw new Error(JSON.stringify(reply.body));
      lost++;
      await sleep(20);
    }
  }

  /** When there are so many answers more. */
  const answered = (more: number) =>
    new Promise<undefined>((resolve) => {
      waiting.push({ answers: acknowledged.length + refusals.length + more, go: () => resolve(undefined) });
    });

  function count(): void {
    const answers = acknowledged.length + refusals.length;
    for (const one of waiting) if (answers >= one.answers) one.go();
    waiting.splice(0, waiting.length, ...waiting.filter((one) => answers < one.answers));
  }

  return {
    acknowledged,
    refusals,
    answered,
    figures: () => ({ sum, lost, replayed }),
    async payAll(payments: readonly Payment[]): Promise<void> {
      const left = payments.values();
      const client = async () => {
        for (const payment of left) {
          await pay(payment);
          count();
        }
      };
      await Promise.all(Array.from({ length: clientCount }, client));
      await Promise.all(abandoned);
    },
  };
}

test('a budget is spent to the unit while instances and PostgreSQL are killed, and nothing is refused that fits', {
  timeout: 1_800_000,
}, async () => {
  const postgres = await startPostgres();
  const { db } = postgres;
  // Nothing is asked of the chains until a saga runs, so that a payment out is taken although nobody reads them.
  await db.query(
    `INSERT INTO chain_cursors (chain, block_number, block_hash, read_at)
     SELECT chain, 0, '0x0', now() + interval '1 day' FROM unnest($1::text[]) chain`,
    [chainIds],
  );
  const instances = await startInstances(3, postgres.url, { WITHDRAWAL_DAILY_LIMIT_FREE: '0' });
  const planned = makePayments();
  const limit = (planned.reduce((total, { amount }) => total + amount, 0n) * 3n) / 5n;
  const { payee, agent, keys } = await openAccount(db, instances[0] as Instance, limit);
  const payments = planned.map((payment) => ({
    ...payment,
    body: {
      amount: decimal(payment.amount),
      currency: 'USDC',
      ...(payment.path === '/agent/transfer' ? { to: payee.handle } : { address: outside }),
    },
  }));

  // A quarter begins when what was killed in the one before is back, whatever of that is still under way.
  const clients = openClients(instances, keys, limit);
  const since = performance.now();
  const quarter = paymentCount / 4;
  const kills = [
    () => instances[1]?.killAndRestart(),
    () => postgres.killAndRestart(),
    () => instances[0]?.killAndRestart(),
    () => undefined,
  ];
  const underWay: Promise<void>[] = [];
  for (const [index, kill] of kills.entries()) {
    const paid = clients.payAll(payments.slice(index * quarter, (index + 1) * quarter));
    underWay.push(paid);
    await Promise.race([clients.answered(quarter / 3), paid]);
    await kill();
  }
  await Promise.all(underWay);

  const { acknowledged, refusals } = clients;
  const { sum, lost, replayed } = clients.figures();
  expect(acknowledged.length + refusals.length).toBe(paymentCount);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(lost, 'answers were lost').toBeGreaterThan(0);
  expect(replayed, 'payments were replayed').toBeGreaterThan(0);
  expect(refusals.length).toBeGreaterThan(paymentCount / 20);

  // What the budget had after each commit, in order: all payments are of one account, along which time rises.
  const { rows } = await db.query<{ amount: string; opensSaga: boolean }>(
    `SELECT s.amounts[1] AS amount, s.spent_on IS NOT NULL AS opens_saga
       FROM ledger.spendings s JOIN ledger.budgets b ON s.budgets = ARRAY[b.id] WHERE b.place = $1 ORDER BY s.posted_at`,
    [agent.id],
  );
  let remaining = limit;
  const had = new Set([remaining]);
  for (const { amount } of rows) {
    remaining -= BigInt(amount);
    had.add(remaining);
  }
  expect(remaining).toBeGreaterThanOrEqual(0n);
  expect(rows).toHaveLength(acknowledged.length);
  expect(remaining).toBe(limit - sum);
  const opened = rows.filter(({ opensSaga }) => opensSaga).length;
  expect(onlyRow(await db.query<{ count: bigint }>('SELECT count(*) FROM withdrawals')).count).toBe(BigInt(opened));
  expect(opened).toBeGreaterThan(0);

  for (const refusal of refusals) {
    expect(refusal.remaining).toBeLessThan(refusal.amount);
    expect(refusal.remaining).toBeLessThanOrEqual(refusal.most);
    expect(had.has(refusal.remaining), 'it had what the refusal says').toBe(true);
    // It only falls, so what did not fit does not fit now.
    expect(remaining).toBeLessThan(refusal.amount);
  }

  // To the last unit.
  const transfer = (amount: bigint) =>
    (instances[2] as Instance).client.post(
      '/agent/transfer',
      { to: payee.handle, amount: decimal(amount), currency: 'USDC' },
      keys[3],
    );
  if (remaining > 0n) expect(await transfer(remaining)).toMatchObject({ status: 200 });
  expect(await transfer(1n)).toMatchObject({ status: 403, body: { code: 'budget_exceeded', remaining: '0' } });
  const { body } = await (instances[1] as Instance).client.get('/account/budgets', agent.apiKey);
  expect(body.budgets).toMatchObject([{ limit: decimal(limit), spent: decimal(limit), remaining: '0' }]);
  expect((await verifyLedger(db)).problems).toEqual([]);

  if (process.env.BUDGET_PAYMENTS !== undefined) {
    const seconds = ((performance.now() - since) / 1_000).toFixed(1);
    const figures = { seconds, paid: acknowledged.length, sagas: opened, refused: refusals.length, lost, replayed };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  }
});
