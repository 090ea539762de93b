import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionSettings } from '../../../src/kernel/db/connection-settings.ts';
import { longStatements, openDatabase } from '../../../src/kernel/db/database.ts';
import { OutcomeUnknown } from '../../../src/kernel/db/errors.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { houseAccount, slotsOf } from '../../../src/ledger/account-id.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import type { TestAccount } from '../../support/client.ts';
import { useInvoices } from '../../support/invoices.ts';
import { startService, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { startWire } from '../../support/wire.ts';

const poolSize = 8;
const service = useService({ env: { DATABASE_POOL_SIZE: String(poolSize) } });
const { url } = service.database;
const { funded, ask, pay } = useInvoices(() => service.client);

const transfer = (from: TestAccount, to: TestAccount) =>
  service.client.post('/agent/transfer', { to: to.handle, amount: 1, currency: 'USDC' }, from.key);

/** Begins a transaction, takes the account that every transfer pays its fee to, and says nothing more. */
async function holdFees(settings: pg.ClientConfig): Promise<{ ended: Promise<string>; letGo(): Promise<void> }> {
  const client = new pg.Client(settings);
  const ended = new Promise<string>((resolve) => {
    client.on('error', (error: Error & { code?: string }) => resolve(error.code ?? ''));
  });
  await client.connect();
  const letGo = () => client.end().catch(() => {});
  onTestFinished(letGo);
  const slots = slotsOf(houseAccount('fees', 'USDC'));
  await client.query('INSERT INTO ledger.accounts (id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING', [slots]);
  await client.query('BEGIN');
  const { rowCount } = await client.query('SELECT FROM ledger.accounts WHERE id = ANY ($1) FOR UPDATE', [slots]);
  expect(rowCount).toBe(slots.length);
  return { ended, letGo };
}

describe('somebody who holds the fee account and falls silent', () => {
  test('is ended by the database, and the transfers of strangers go through', async () => {
    const [ada, grace] = [await funded(10), await service.client.register()];
    expect((await transfer(ada, grace)).status).toBe(200);
    const holder = await holdFees(connectionSettings({ url, applicationName: 'silent' }));
    const waiting = await Promise.all([transfer(ada, grace), transfer(ada, grace)]);
    expect(waiting.map(({ status }) => status)).toEqual([200, 200]);
    expect(await holder.ended).toBe('25P03');
  });

  test('loses what it was about, and is told so', async () => {
    const db = openDatabase({
      url,
      poolSize: 1,
      logger: createLogger('silent'),
      applicationName: 'silent',
      limits: { idleInTransactionMs: 1_500 },
    });
    onTestFinished(() => db.close());
    const { handle } = await service.client.register();
    const silent = db.transaction(async (tx) => {
      await tx.query("UPDATE accounts SET name = 'Nobody' WHERE handle = $1", [handle]);
      await until('the database to end it', async () => {
        const { rowCount } = await service.database.db.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'silent'",
        );
        return rowCount === 0;
      });
      // It was told before it was ended, and hears that before it says anything itself.
      await setImmediate();
    });
    await expect(silent).rejects.toMatchObject({ code: '25P03' });
    const { rows } = await db.query('SELECT name FROM accounts WHERE handle = $1', [handle]);
    expect(rows).toEqual([{ name: 'Ada' }]);
  });
});

test('however many pay invoices and wait for one row, everybody else is served, and they are told to come again', {
  tags: ['matrix'],
}, async () => {
  const [seller, payer] = [await service.client.register(), await funded(1_000)];
  // The first fee makes the account that is held below.
  expect((await transfer(payer, seller)).status).toBe(200);
  const invoices = await Promise.all(
    Array.from({ length: 4 * poolSize }, async () => (await ask(seller, { toHandle: payer.handle })).body.id as string),
  );
  // From outside, and without limits: the database does not end it.
  const holder = await holdFees({ connectionString: url });
  const payments = invoices.map((id) => pay(payer, id));
  await until('payments to wait for the row', async () => {
    const { rowCount } = await service.database.db.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'paywright' AND wait_event_type = 'Lock'",
    );
    return (rowCount ?? 0) >= 3;
  });
  const { key, handle } = await service.client.register();
  expect((await service.client.get('/account', key)).body.handle).toBe(handle);
  expect((await ask(seller, { toHandle: handle })).status).toBe(201);
  const webhook = { url: 'https://example.com/hook', events: ['payment.sent'] };
  expect((await service.client.post('/webhooks', webhook, key)).status).toBe(201);

  for (const { status, body, headers } of await Promise.all(payments)) {
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
  }
  await holder.letGo();
  expect((await pay(payer, invoices[0] ?? '')).body.status).toBe('paid');
});

describe('a statement', () => {
  const impatient = () => {
    const db = openDatabase({ url, poolSize: 2, logger: createLogger('silent'), limits: { statementMs: 500 } });
    onTestFinished(() => db.close());
    return db;
  };
  const slow = 'SELECT pg_sleep(1)';

  test('that takes too long is ended', async () => {
    const db = impatient();
    await expect(db.query(slow)).rejects.toMatchObject({ code: '57014' });
    await expect(db.transaction((tx) => tx.query(slow))).rejects.toMatchObject({ code: '57014' });
  });

  test('that reads everything has the time it needs, and only that one', async () => {
    const db = impatient();
    await expect(db.transaction((tx) => tx.query(slow), longStatements)).resolves.toMatchObject({ rowCount: 1 });
    await expect(db.atOneMoment((tx) => tx.query(slow))).resolves.toMatchObject({ rowCount: 1 });
    await expect(db.transaction((tx) => tx.query(slow))).rejects.toMatchObject({ code: '57014' });
  });

  test('of a database that says nothing at all is given up; whether it wrote is not known', {
    tags: ['matrix'],
  }, async () => {
    const closers: (() => Promise<unknown>)[] = [];
    const wire = await startWire(url, (close) => closers.push(close));
    const db = openDatabase({
      url: wire.url,
      poolSize: 4,
      logger: createLogger('silent'),
      limits: { statementMs: 1_000 },
    });
    onTestFinished(async () => {
      await db.close();
      for (const close of closers) await close();
    });
    await Promise.all([1, 2, 3, 4].map(() => db.query('SELECT pg_sleep(0.1)')));
    wire.muffle();
    const [read, write, transaction] = await Promise.allSettled([
      db.query('SELECT'),
      db.query("DELETE FROM accounts WHERE handle = 'nobody'"),
      db.transaction((tx) => tx.query("DELETE FROM accounts WHERE handle = 'nobody'")),
    ]);
    expect(read).toMatchObject({ reason: { message: 'Query read timeout' } });
    expect(write).toMatchObject({ reason: expect.any(OutcomeUnknown) });
    // Its commit was never sent: that is certain.
    expect(transaction).not.toMatchObject({ reason: expect.any(OutcomeUnknown) });
    expect(transaction).toMatchObject({ status: 'rejected', reason: expect.any(Error) });
  });
});

describe('the limits', () => {
  test('are asked for by every connection of the service', async () => {
    const closers: (() => Promise<unknown>)[] = [];
    const wire = await startWire(url, (close) => closers.push(close));
    const second = await startService({ ...service.database, url: wire.url });
    const { key } = await second.client.register();
    // Only who posts needs the ledger's connections.
    await second.client.post('/sandbox/fund', { amount: 1 }, key);
    await second.client.post(
      '/agent/transfer',
      { to: (await second.client.register()).handle, amount: 1, currency: 'USDC' },
      key,
    );
    await second.stop();
    for (const close of closers) await close();
    const names = wire.greetings.map((greeting) => /application_name\0([^\0]*)/.exec(greeting)?.[1]);
    expect(new Set(names)).toEqual(
      new Set([
        'paywright',
        'paywright-chains',
        'paywright-claim',
        'paywright-batches',
        'paywright-listener',
        'paywright-migrate',
        'paywright-probe',
        'paywright-schema',
        'paywright-secret',
        'paywright-wakes',
        'paywright-worker',
      ]),
    );
    for (const greeting of wire.greetings) {
      // It finds out whether settings arrive at all, and ends.
      if (greeting.includes('paywright-probe')) continue;
      expect(greeting).toContain('idle_in_transaction_session_timeout\x005000\0');
      expect(greeting).toContain('-c client_connection_check_interval=1000');
      expect(greeting).toContain('-c tcp_user_timeout=10000');
      if (/paywright-(claim|migrate)/.test(greeting)) continue;
      expect(greeting).toMatch(/statement_timeout\0\d+\0/);
      expect(greeting).toMatch(/lock_timeout\0\d+\0/);
    }
  });

  test('hold, beside what an operator asks for in the URL', async () => {
    const client = new pg.Client(
      connectionSettings({ url: `${url}?options=-c%20work_mem%3D7MB`, applicationName: 'x' }),
    );
    await client.connect();
    onTestFinished(() => client.end());
    const show = async (name: string) => (await client.query<Record<string, string>>(`SHOW ${name}`)).rows[0]?.[name];
    expect(await show('statement_timeout')).toBe('15s');
    expect(await show('lock_timeout')).toBe('4s');
    expect(await show('idle_in_transaction_session_timeout')).toBe('5s');
    expect(await show('client_connection_check_interval')).toBe('1s');
    expect(await show('work_mem')).toBe('7MB');
  });
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});
