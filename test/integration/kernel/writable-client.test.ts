import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { withClient } from '../../../src/kernel/db/connection-settings.ts';
import { isUnavailable, openDatabase } from '../../../src/kernel/db/database.ts';
import { startListener } from '../../../src/kernel/db/listener.ts';
import { readDatabaseUrl } from '../../../src/kernel/db/writable-client.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { hostOf, startPair } from '../../support/standby.ts';
import { until } from '../../support/until.ts';

const logger = createLogger('silent');

it('connections go to the host that accepts writes, also after another has taken over', async () => {
  const { primary, standby, stop } = await startPair();
  onTestFinished(stop);
  const [one, other] = [hostOf(standby.url), hostOf(primary.url)];
  const url = readDatabaseUrl(`postgresql://paywright@${one},${other}/paywright?target_session_attrs=read-write`) ?? '';
  const db = openDatabase({ url, poolSize: 4, logger });
  onTestFinished(() => db.close());
  const heard: string[] = [];
  let reconnected = 0;
  const listener = await startListener({
    url,
    logger,
    applicationName: 'listens',
    channels: ['news'],
    onNotification: (_channel, payload) => heard.push(payload),
    onDisconnect: () => {},
    onReconnect: () => reconnected++,
  });
  onTestFinished(() => listener.stop());

  await db.query('CREATE TABLE kept (id integer PRIMARY KEY)');
  await db.transaction((tx) => tx.query('INSERT INTO kept VALUES (1)'));
  await db.query("SELECT pg_notify('news', 'before')");
  await until('the notification', async () => heard.includes('before'));
  const copy = new pg.Client({ connectionString: standby.url });
  await copy.connect();
  onTestFinished(() => copy.end());
  const rowsOfCopy = async () => (await copy.query("SELECT FROM pg_class WHERE relname = 'kept'")).rowCount === 1;
  await until('the table on the standby', rowsOfCopy);
  await until('the row on the standby', async () => (await copy.query('SELECT FROM kept')).rowCount === 1);

  await primary.stop();
  const refused = await db.query('INSERT INTO kept VALUES (2)').catch((error: unknown) => error);
  expect(isUnavailable(refused)).toBe(true);
  await copy.query('SELECT pg_promote()');

  const write = () =>
    db.query('INSERT INTO kept VALUES (3)').then(
      () => true,
      () => false,
    );
  await until('the new primary', write);
  expect((await db.query<{ id: number }>('SELECT id FROM kept ORDER BY id')).rows).toEqual([{ id: 1 }, { id: 3 }]);
  await until('the listener', async () => reconnected > 0);
  await db.query("SELECT pg_notify('news', 'after')");
  await until('the notification', async () => heard.includes('after'));
  const { rows } = await withClient({ url, applicationName: 'alone' }, (client) => client.query('SELECT FROM kept'));
  expect(rows).toHaveLength(2);
});
