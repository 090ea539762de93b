import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/kernel/db/database.ts';
import { OutcomeUnknown } from '../../../src/kernel/db/errors.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { freshEmail, type Reply, type TestAccount } from '../../support/client.ts';
import { useInvoices } from '../../support/invoices.ts';
import { type Service, startService, useStartedDatabase } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { startWire, type Wire } from '../../support/wire.ts';

/** The service reaches its database over a line that we hold in our hands. */
const database = useStartedDatabase();
const closers: (() => Promise<unknown>)[] = [];
let wire: Wire;
let service: Service;
beforeAll(async () => {
  wire = await startWire(database.url, (close) => closers.push(close));
  service = await startService({ ...database, url: wire.url });
});
afterAll(async () => {
  await service.stop();
  for (const close of closers) await close();
});
const { funded, ask, balanceOf } = useInvoices(() => service.client);

const address = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';

interface Write {
  readonly what: string;
  /** What the database is sent in that transaction, and in no other. */
  readonly statement: string;
  prepare(): Promise<{ account: TestAccount; path: string; body?: unknown }>;
}

const writes: readonly Write[] = [
  {
    what: 'a withdrawal',
    statement: 'INSERT INTO withdrawals',
    prepare: async () => ({ account: await funded(20), path: '/circle/withdraw', body: { amount: 10, address } }),
  },
  {
    what: 'a new invoice',
    statement: 'INSERT INTO invoices',
    async prepare() {
      const [account, { handle }] = [await service.client.register(), await service.client.register()];
      const body = { toHandle: handle, amount: 1, currency: 'USDC', description: 'Lunch' };
      return { account, path: '/invoices', body };
    },
  },
  {
    what: 'the payment of an invoice',
    statement: "UPDATE invoices SET status = 'paid'",
    async prepare() {
      const [account, seller] = [await funded(20), await service.client.register()];
      const { body } = await ask(seller, { toHandle: account.handle });
      return { account, path: `/invoices/${body.id}/pay` };
    },
  },
  {
    what: 'a webhook',
    statement: 'INSERT INTO webhooks',
    async prepare() {
      const body = { url: 'https://example.com/hook', events: ['payment.sent'], secret: 'whsec_c2VjcmV0IHNlY3JldA==' };
      return { account: await service.client.register(), path: '/webhooks', body };
    },
  },
];

const send = (path: string, account: TestAccount, body?: unknown): Promise<Reply> =>
  service.client.request('POST', path, { key: account.key, body, headers: { 'idempotency-key': 'once' } });

/** As an agent does: as long as it is told that the first request is still running, it asks again. The database ends that when it sees the cut. */
const sendAgain = (path: string, account: TestAccount, body?: unknown): Promise<Reply> =>
  until('the first request to be over', async () => {
    const reply = await send(path, account, body);
    return reply.body.code !== 'idempotency_in_progress' && reply;
  });

function expectTold({ status, headers, body }: Reply, code: string): void {
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, code, '1']);
}

describe.each(writes)('$what', ({ statement, prepare }) => {
  test('whose commit was not answered may have happened, and sent again it is answered as the first time', async () => {
    const { account, path, body } = await prepare();
    const lost = wire.loseCommitAfter(statement);
    const unsure = await send(path, account, body);
    await lost;
    expectTold(unsure, 'outcome_unknown');
    const again = await sendAgain(path, account, body);
    expect([again.status < 300, again.headers.get('idempotency-replayed')]).toEqual([true, 'true']);
  });

  test('whose connection was lost before the commit has not happened', async () => {
    const { account, path, body } = await prepare();
    const cut = wire.cutBefore(statement);
    const refused = await send(path, account, body);
    await cut;
    expectTold(refused, 'unavailable');
    const again = await sendAgain(path, account, body);
    expect([again.status < 300, again.headers.get('idempotency-replayed')]).toEqual([true, null]);
  });
});

test('a withdrawal that was not answered left the balance once, however often it is sent again', async () => {
  const account = await funded(20);
  const lost = wire.loseCommitAfter('INSERT INTO withdrawals');
  await send('/circle/withdraw', account, { amount: 10, address });
  await lost;
  for (let n = 0; n < 3; n++) await sendAgain('/circle/withdraw', account, { amount: 10, address });
  expect(await balanceOf(account)).toMatchObject({ USDC: '10' });
});

test('a registration whose commit was not answered may have happened: signing in shows it', async () => {
  const fields = { email: freshEmail(), name: 'Ada', password: 'correct horse' };
  const lost = wire.loseCommitAfter('INSERT INTO accounts');
  const unsure = await service.client.post('/agent/register', fields);
  await lost;
  expectTold(unsure, 'outcome_unknown');
  expect(await service.client.post('/agent/register', fields)).toMatchObject({ body: { isNewAccount: false } });
});

test('a single statement that was not answered may have happened, if it writes', async () => {
  const db = openDatabase({ url: wire.url, poolSize: 1, logger: createLogger('silent') });
  onTestFinished(() => db.close());
  const { handle } = await service.client.register();
  const write = () => db.query("UPDATE accounts SET name = 'Lovelace' WHERE handle = $1", [handle]);
  const read = () => db.query<{ name: string }>('SELECT name FROM accounts WHERE handle = $1', [handle]);

  const unread = wire.loseAnswerTo('SELECT name FROM accounts WHERE handle');
  await expect(read()).rejects.not.toBeInstanceOf(OutcomeUnknown);
  await unread;
  const cut = wire.cutBefore('UPDATE accounts SET name');
  await expect(write()).rejects.toBeInstanceOf(OutcomeUnknown);
  await cut;
  expect((await read()).rows).toEqual([{ name: 'Ada' }]);
  const lost = wire.loseAnswerTo('UPDATE accounts SET name');
  await expect(write()).rejects.toBeInstanceOf(OutcomeUnknown);
  await lost;
  expect((await read()).rows).toEqual([{ name: 'Lovelace' }]);
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(database.db)).problems).toEqual([]);
});
