import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { createClient, type TestAccount } from '../support/client.ts';
import { useDatabase } from '../support/database.ts';
import { launchServer, type ServerProcess, temporaryDataDir } from '../support/process.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const startingUsdc = 50;
const accountCount = 60;
const clientCount = 24;
const killCount = 6;
const leastTransfers = 201;
const leastReads = 101;

interface Acknowledged {
  readonly transferId: string;
  readonly from: TestAccount;
  readonly to: TestAccount;
  readonly amount: number;
  readonly fee: number;
}

/** A server that is killed without warning, and comes back at the same address. */
async function startUnreliable(dataDir: string) {
  const env = { DATABASE_URL: database.url };
  let server: ServerProcess = await launchServer({ dataDir, env });
  const port = new URL(server.url).port;
  return {
    url: server.url,
    async killAndRestart() {
      await server.end('SIGKILL');
      server = await launchServer({ dataDir, env: { ...env, PORT: port } });
    },
  };
}

/** Sends one transfer until there is an answer that says yes or no, as a careful agent does after a lost connection. */
async function payUntilAnswered(urls: readonly string[], from: TestAccount, to: TestAccount, amount: number) {
  const idempotencyKey = randomUUID();
  for (;;) {
    const client = createClient(urls[randomInt(urls.length)] ?? '');
    const body = { to: to.handle, amount, currency: 'USDC' };
    const reply = await client
      .request('POST', '/agent/transfer', { key: from.key, body, headers: { 'idempotency-key': idempotencyKey } })
      .catch(() => undefined);
    if (reply !== undefined && reply.status !== 503) return reply;
    await sleep(20);
  }
}

async function totalInAtomicUnits(): Promise<bigint> {
  const { rows } = await database.db.query<{ total: string }>(
    'SELECT coalesce(sum(balance), 0) AS total FROM ledger.accounts WHERE ledger.kind_of(id) < 32',
  );
  return BigInt(rows[0]?.total ?? 0);
}

const cents = (amount: number) => Math.round(amount * 100);

test('two servers on one database, killed again and again: no cent is lost, none is made, every answer was true', {
  tags: ['matrix'],
}, async () => {
  const servers = [await startUnreliable(temporaryDataDir()), await startUnreliable(temporaryDataDir())] as const;
  const urls = servers.map((server) => server.url);
  const setUp = createClient(urls[0] ?? '');
  const accounts = await Promise.all(
    Array.from({ length: accountCount }, async () => {
      const account = await setUp.register();
      await setUp.post('/sandbox/fund', { amount: startingUsdc }, account.key);
      return account;
    }),
  );
  const total = BigInt(accountCount * startingUsdc) * 1_000_000n;
  await expect.poll(totalInAtomicUnits).toBe(total);

  let over = false;
  const acknowledged: Acknowledged[] = [];
  const refusals = new Set<string>();
  const reads: bigint[] = [];
  const acknowledgedMore = (count: number) => {
    const enough = acknowledged.length + count;
    return until(`${count} more transfers`, async () => acknowledged.length >= enough, 120_000);
  };
  const someAccount = () => accounts[randomInt(accountCount)] as TestAccount;

  const clients = Array.from({ length: clientCount }, async () => {
    while (!over) {
      const [from, to] = [someAccount(), someAccount()];
      if (from === to) continue;
      const amount = randomInt(1, 2_000) / 100;
      const { status, body } = await payUntilAnswered(urls, from, to, amount);
      if (status === 200) acknowledged.push({ transferId: body.transferId, from, to, amount, fee: body.fee });
      else refusals.add(body.code);
      // Often enough to be under way at every kill, and not so often that nothing else is done on this machine.
      await sleep(100);
    }
  });
  const chaos = (async () => {
    for (let kills = 0; kills < killCount; kills++) {
      // By transfers and not by the clock: there are some under way at every kill, however slow the machine is.
      await acknowledgedMore(randomInt(5, 40));
      await servers[kills < 2 ? kills : randomInt(2)]?.killAndRestart();
    }
    await until(
      'enough to have happened',
      async () => acknowledged.length >= leastTransfers && reads.length >= leastReads,
      120_000,
    );
    over = true;
  })();
  const reader = (async () => {
    while (!over) {
      reads.push(await totalInAtomicUnits());
      await sleep(25);
    }
  })();
  await Promise.all([...clients, chaos, reader]);

  expect(acknowledged.length).toBeGreaterThanOrEqual(leastTransfers);
  expect([...refusals].filter((code) => code !== 'insufficient_balance')).toEqual([]);
  expect(reads.length).toBeGreaterThanOrEqual(leastReads);
  expect(new Set(reads)).toEqual(new Set([total]));

  // Every acknowledged transfer is there exactly once, and nothing else is: whoever got no answer asked again.
  const ids = acknowledged.map((transfer) => transfer.transferId);
  expect(new Set(ids).size).toBe(ids.length);
  const { rows } = await database.db.query<{ count: bigint }>(
    "SELECT count(*) FROM ledger.postings WHERE type = 'transfer'",
  );
  expect(Number(rows[0]?.count)).toBe(ids.length);

  const expected = new Map(accounts.map((account) => [account, cents(startingUsdc)]));
  const change = (account: TestAccount, by: number) => expected.set(account, (expected.get(account) ?? 0) + by);
  for (const { from, to, amount, fee } of acknowledged) {
    change(from, -cents(amount));
    change(to, cents(amount) - cents(fee));
  }
  for (const account of accounts) {
    const { body } = await setUp.get('/circle/balance', account.key);
    expect(cents(Number(body.USDC))).toBe(expected.get(account));
  }
  expect((await verifyLedger(database.db)).problems).toEqual([]);
});
