import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { withClient } from '../../../src/kernel/db/connection-settings.ts';
import { openDatabase } from '../../../src/kernel/db/database.ts';
import { examineServer } from '../../../src/kernel/db/examine-server.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { copyDatabase } from '../../support/copied-database.ts';
import { administer, useDatabase } from '../../support/database.ts';
import { exercise } from '../../support/exercise.ts';
import { startPgbouncer } from '../../support/pgbouncer.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service.ts';

const database = useDatabase();
const receiver = await startReceiver();
const name = 'DATABASE_URL';

test('a URL that leads to PostgreSQL itself stays as it is', async () => {
  expect(await examineServer({ url: database.url, name })).toBe(database.url);
});

test('a service does not start on a server that is too old, and says what it needs', async () => {
  const own = await copyDatabase();
  // The server says of itself what the database makes it say.
  await administer(
    own.url,
    `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT '14.20 (Debian 14.20-1)' $$;
     ALTER DATABASE ${own.name} SET search_path = public, pg_catalog`,
  );
  await expect(startService(own)).rejects.toThrow('PostgreSQL 15 or newer is needed, this one is 14.20.');
});

test('behind a pooler in transaction mode the service refuses to start', { tags: ['pgbouncer'] }, async () => {
  const url = await startPgbouncer(database.url, { poolMode: 'transaction' });
  // Others may hold sessions of the pooler at the same time.
  const others = await Promise.all(
    [1, 2, 3].map(async () => {
      const other = openDatabase({ url: `${url}?settings=never`, poolSize: 1, logger: createLogger('silent') });
      onTestFinished(() => other.close());
      return other;
    }),
  );
  await Promise.all(others.map((other) => other.query('SELECT pg_sleep(0.1)')));
  await expect(startService({ url })).rejects.toThrow(
    "DATABASE_URL leads through a connection pooler in transaction mode, which loses the service's locks and notifications.",
  );
  await expect(startService({ url: `${url}?statement_timeout=1000` })).rejects.toThrow('in transaction mode');
});

test('a pooler in transaction mode that takes turns among two sessions is refused as well', {
  tags: ['pgbouncer'],
}, async () => {
  const lines = ['default_pool_size = 2', 'server_round_robin = 1'];
  const url = await startPgbouncer(database.url, { poolMode: 'transaction', lines });
  const both = openDatabase({ url: `${url}?settings=never`, poolSize: 2, logger: createLogger('silent') });
  onTestFinished(() => both.close());
  await Promise.all([both.query('SELECT pg_sleep(0.1)'), both.query('SELECT pg_sleep(0.1)')]);
  await expect(examineServer({ url, name })).rejects.toThrow('in transaction mode');
});

test('what such a pooler would lose: locks, notifications, settings, prepared statements', {
  tags: ['pgbouncer'],
}, async () => {
  const url = await startPgbouncer(database.url, { poolMode: 'transaction' });
  const connect = async (connectionString: string) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  const [mine, other, direct] = [await connect(url), await connect(url), await connect(database.url)];
  const heard: string[] = [];
  mine.on('notification', () => heard.push('mine'));
  other.on('notification', () => heard.push('other'));

  await mine.query("SET lock_timeout = '123ms'");
  expect((await other.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '123ms' }]);
  const lock = 'SELECT pg_try_advisory_lock(1) AS taken';
  expect((await mine.query(lock)).rows).toEqual([{ taken: true }]);
  expect((await other.query(lock)).rows).toEqual([{ taken: true }]);
  await mine.query({ name: 'known', text: 'SELECT 1' });
  await expect(other.query({ name: 'known', text: 'SELECT 2' })).rejects.toThrow('already exists');

  await mine.query('LISTEN news');
  await other.query('BEGIN');
  await direct.query('NOTIFY news');
  await other.query('COMMIT');
  expect(heard).toEqual(['other']);
});

test('behind a pooler in session mode every connection has its settings', { tags: ['pgbouncer'] }, async () => {
  const pooled = await startPgbouncer(database.url, { poolMode: 'session' });
  const given = 'options=-c%20work_mem%3D7MB%20-c%20lock_timeout%3D3s&statement_timeout=1234';
  const url = await examineServer({ url: `${pooled}?${given}`, name });
  const session = { url, applicationName: 'alone', limits: { idleInTransactionMs: 4321 } };
  const { rows } = await withClient(session, (client) =>
    client.query(
      `SELECT current_setting('work_mem') AS memory, current_setting('lock_timeout') AS lock,
              current_setting('statement_timeout') AS statement, current_setting('client_connection_check_interval') AS peer,
              current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('application_name') AS name`,
    ),
  );
  expect(rows).toEqual([{ memory: '7MB', lock: '3s', statement: '1234ms', peer: '1s', idle: '4321ms', name: 'alone' }]);
});

test('behind a pooler in session mode a service does everything', { tags: ['pgbouncer'] }, async () => {
  const url = await startPgbouncer(database.url, { poolMode: 'session' });
  const env = { ALLOW_PRIVATE_HOSTS: receiver.host };
  const one = await startService({ url }, { env });
  onTestFinished(() => one.stop());
  const two = await startService({ url }, { env });
  onTestFinished(() => two.stop());
  await exercise({ db: database.db, one, two, receiver });
});
