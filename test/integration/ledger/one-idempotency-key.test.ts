import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/kernel/db/database.ts';
import { scopes } from '../../../src/kernel/http/define-route.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createOnce, keepAnswer } from '../../../src/ledger/idempotency.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import type { Reply, TestAccount } from '../../support/client.ts';
import { useInvoices } from '../../support/invoices.ts';
import { createOwners, fund, scope, transfer } from '../../support/ledger.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService();
const { funded, ask, balanceOf } = useInvoices(() => service.client);

const address = '0x8ba1f109551bD432803012645Ac136ddd64DBA72';
let friend: TestAccount;
beforeAll(async () => {
  friend = await service.client.register();
});

type Use = (account: TestAccount, key: string) => Promise<Reply>;

const send = (path: string, body: unknown, account: TestAccount, key: string) =>
  service.client.request('POST', path, { key: account.key, body, headers: { 'idempotency-key': key } });

/** Every way to use a key for something. */
const uses: Readonly<Record<string, Use>> = {
  'a transfer': (account, key) =>
    send('/agent/transfer', { to: friend.handle, amount: 1, currency: 'USDC' }, account, key),
  'a withdrawal': (account, key) => send('/circle/withdraw', { amount: 2, address }, account, key),
  'a new invoice': (account, key) =>
    send('/invoices', { toHandle: friend.handle, amount: 1, currency: 'USDC', description: 'Lunch' }, account, key),
  'a webhook': (account, key) =>
    send('/webhooks', { url: 'https://example.com/hook', events: ['payment.sent'] }, account, key),
  'a wallet': (account, key) => send('/circle/wallet', undefined, account, key),
  'play money': (account, key) => send('/sandbox/fund', { amount: 3 }, account, key),
};
/** What each does to the balance. */
const changes: Readonly<Record<string, number>> = { 'a transfer': -1, 'a withdrawal': -2, 'play money': 3 };
const pairs = Object.keys(uses).flatMap((first) =>
  Object.keys(uses).flatMap((second) => (first === second ? [] : [[first, second] as const])),
);
const use = (what: string, account: TestAccount, key: string) => (uses[what] as Use)(account, key);

describe('a key belongs to what it was used for first', () => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await funded(1_000);
  });

  test.each(pairs)('%s: it is no key for %s', async (first, second) => {
    const key = `${first}, then ${second}`;
    expect((await use(first, account, key)).status).toBeLessThan(300);
    const other = await use(second, account, key);
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
    const again = await use(first, account, key);
    expect([again.status < 300, again.headers.get('idempotency-replayed')]).toEqual([true, 'true']);
  });

  test('and so is the payment of an invoice', async () => {
    const { body } = await ask(friend, { toHandle: account.handle });
    expect((await send(`/invoices/${body.id}/pay`, undefined, account, 'paying')).status).toBe(200);
    expect((await use('a transfer', account, 'paying')).body.code).toBe('idempotency_mismatch');
  });

  test('but a refusal leaves it free for anything', async () => {
    const poor = await service.client.register();
    expect((await use('a transfer', poor, 'k')).body.code).toBe('insufficient_balance');
    expect((await use('a withdrawal', poor, 'k')).body.code).toBe('insufficient_balance');
    expect((await use('a new invoice', poor, 'k')).status).toBe(201);
    expect((await use('a transfer', poor, 'k')).body.code).toBe('idempotency_mismatch');
  });
});

test.each([
  ['a transfer', 'a withdrawal'],
  ['a transfer', 'play money'],
  ['a new invoice', 'a withdrawal'],
])('used for the first time by %s and %s at once, exactly one is done', async (first, second) => {
  const account = await funded(1_000);
  let expected = 1_000;
  for (let round = 0; round < 12; round++) {
    const key = `round ${round}`;
    const replies = await Promise.all([use(first, account, key), use(second, account, key)]);
    const done = [first, second].filter((_, index) => (replies[index]?.status ?? 500) < 300);
    const refused = replies.filter(({ status }) => status >= 300).map(({ status, body }) => [status, body.code]);
    expect([done.length, refused.length]).toEqual([1, 1]);
    expect([
      [409, 'idempotency_in_progress'],
      [422, 'idempotency_mismatch'],
    ]).toContainEqual(refused[0]);
    expected += changes[done[0] ?? ''] ?? 0;
  }
  expect((await balanceOf(account)).USDC).toBe(String(expected));
});

describe('while the first use of a key is not committed yet', () => {
  const { db } = service.database;
  const logger = createLogger('silent');

  test('a transfer waits for it, and is refused when it is', async () => {
    const [ada, bob] = await people();
    const ledger = createLedger({ db: open('transfers'), logger });
    const [used, first] = [deferred(), deferred()];
    const request = db.transaction(async (tx) => {
      await keepAnswer(tx, scope(ada, 'k', 'a withdrawal'), { status: 200, body: {} });
      used.resolve();
      await first.promise;
    });
    await used.promise;
    const second = ledger.post(transfer(ada, bob, 10n, { idempotency: scope(ada, 'k', 'a transfer') }));
    await waits('transfers');
    first.resolve();
    await request;
    expect(await second).toEqual({ outcome: 'mismatch' });
  });

  test('any other request waits for a transfer, and then has done nothing', async () => {
    const [ada, bob] = await people();
    const ledger = createLedger({ db, logger });
    const once = createOnce(open('requests'));
    const [used, first] = [deferred(), deferred()];
    const paying = db.transaction(async (tx) => {
      await ledger.postWithin(tx, [transfer(ada, bob, 10n, { idempotency: scope(ada, 'k', 'a transfer') })]);
      used.resolve();
      await first.promise;
    });
    await used.promise;
    const caller = { accountId: ada, keyId: 'key_x', handle: 'PA-X', tier: 'free' as const, scopes, bucket: 'x' };
    const { key, requestHash } = scope(ada, 'k', 'a change of name');
    const idempotency = { key, requestHash };
    const second = once({ caller, idempotency }, async (tx) => {
      await tx.query("UPDATE accounts SET name = 'Other' WHERE id = $1", [ada]);
      return { status: 200, body: {} };
    }).catch((error: unknown) => error);
    await waits('requests');
    first.resolve();
    await paying;
    expect(await second).toMatchObject({ code: 'idempotency_mismatch' });
    const { rows } = await db.query("SELECT FROM accounts WHERE name = 'Other'");
    expect(rows).toHaveLength(0);
  });

  function deferred() {
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    return { promise, resolve: () => resolve() };
  }

  async function people(): Promise<[bigint, bigint]> {
    const [ada, bob] = await createOwners(db, 2);
    if (ada === undefined || bob === undefined) throw new Error('nobody was created');
    await fund(createLedger({ db, logger }), [ada], 1_000n);
    return [ada.id, bob.id];
  }

  function open(applicationName: string): Database {
    const opened = openDatabase({ url: service.database.url, poolSize: 2, logger, applicationName });
    onTestFinished(() => opened.close());
    return opened;
  }

  const waits = (applicationName: string) =>
    until(`${applicationName} to wait`, async () => {
      const { rows } = await db.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'`,
        [applicationName],
      );
      return rows.length > 0;
    });
});

test('a body that is nested without end is refused, and leaves the key free', async () => {
  const account = await funded(10);
  const deep = `{"to":"${friend.handle}","currency":"USDC","amount":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  expect(await send('/agent/transfer', deep, account, 'deep')).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', detail: 'The body is nested deeper than 100 levels.' },
  });
  expect((await uses['a transfer']?.(account, 'deep'))?.status).toBe(200);
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});
