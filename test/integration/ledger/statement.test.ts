import { BlockList } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scopes } from '../../../src/kernel/http/define-route.ts';
import { closeServer } from '../../../src/kernel/http/listen.ts';
import { createServer } from '../../../src/kernel/http/server.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { balanceRoutes } from '../../../src/payments/transfers/balance-routes.ts';
import { useDatabase } from '../../support/database.ts';
import { createOwners, fund, transfer } from '../../support/ledger.ts';
import { readStatement } from '../../support/statement.ts';

const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const app = createServer({
  config: {
    rateLimits: { free: 0, pro: 0, anonymous: 0, network: 0, pages: 0, address: 0 },
    trustedProxies: new BlockList(),
  },
  publicUrl: () => 'http://pay.example',
  routes: balanceRoutes({ db, readDb: db }),
  authenticate: (token) => ({ accountId: BigInt(token), keyId: '', handle: '', tier: 'free', scopes, bucket: token }),
  limiter: {
    take: () => ({ allowed: true, remaining: 1, resetMs: 1, giveBack: () => {} }),
    peek: () => ({ allowed: true, remaining: 1, resetMs: 1 }),
    close: async () => {},
  },
  secrets: createSecrets('s'.repeat(32)),
  logger,
});
let url: string;
let ada: bigint;

/** More lines than are in memory at once, and more than is sent as one. */
const payments = 1_200;
const month = () => new Date().toISOString().slice(0, 7);

beforeAll(async () => {
  url = await app.listen({ port: 0, host: '127.0.0.1' });
  const owners = await createOwners(db, 2);
  const [one, other] = owners.map(({ id }) => id) as [bigint, bigint];
  ada = one;
  await fund(ledger, owners, 10_000_000n);
  const pay = (index: number) => ledger.post(transfer(one, other, 1_000n, { description: `no. ${index}, "so"` }));
  await Promise.all(Array.from({ length: payments }, (_, index) => pay(index)));
});
afterAll(async () => {
  await closeServer(app);
  await ledger.stop();
});

const ask = (query: string, init: RequestInit = {}) =>
  fetch(`${url}/api/account/statement?month=${month()}${query}`, {
    ...init,
    headers: { authorization: `Bearer ${ada}`, ...init.headers },
  });

describe('a statement that is too long to be sent as one', () => {
  test('is to the letter what it would be as one', async () => {
    const whole = await readStatement(db, { accountId: ada, month: month(), currency: 'USDC' });
    expect(whole.lines).toHaveLength(payments + 1);
    const reply = await ask('');
    expect(reply.headers.get('transfer-encoding')).toBe('chunked');
    expect(await reply.text()).toBe(JSON.stringify(whole));
  });

  test('adds up as CSV too, with a row for each line and one at each end', async () => {
    const rows = (await (await ask('&format=csv')).text()).split('\r\n');
    expect(rows).toHaveLength(payments + 5);
    expect(rows[1]).toBe(`${month()}-01,,opening balance,,,,,0,USDC`);
    expect(rows[3]).toMatch(/,"no\. \d+, ""so""",-0\.001,9\.999,USDC$/);
    expect(rows.slice(-2)).toEqual([',,closing balance,,,,,8.8,USDC', '']);
  });

  test('is whole whatever the client says it has already, and HEAD has its headers alone', async () => {
    for (const headers of [
      { 'if-none-match': '*' },
      { 'if-modified-since': new Date().toUTCString() },
      { range: 'bytes=0-9' },
    ]) {
      const reply = await ask('', { headers });
      expect([reply.status, ((await reply.json()) as { lines: unknown[] }).lines.length]).toEqual([200, payments + 1]);
    }
    const head = await ask('', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('takes no connection to the database from others while its reader rests', async () => {
    const replies = await Promise.all([ask(''), ask('&format=csv')]);
    const { pool } = db;
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    for (const reply of replies) await reply.body?.cancel();
    await expect.poll(async () => (await ask('', { method: 'HEAD' })).status).toBe(200);
  });

  test('is broken off when its entries do not lead where they say', async () => {
    await db.transaction(async (tx) => {
      await tx.query('ALTER TABLE ledger.postings_first DISABLE TRIGGER USER');
      await tx.query(
        `UPDATE ledger.postings_first SET amount = amount - 1 WHERE (payer, posted_at) = (
           SELECT account_id, posted_at FROM ledger.entries WHERE account_id = $1 ORDER BY posted_at OFFSET $2 LIMIT 1)`,
        [userAccount(ada, 'USDC'), payments - 10],
      );
      await tx.query('ALTER TABLE ledger.postings_first ENABLE TRIGGER USER');
    });
    for (const query of ['', '&format=csv']) {
      const reply = await ask(query);
      expect(reply.status).toBe(200);
      await expect(reply.text()).rejects.toThrow();
    }
  });
});
