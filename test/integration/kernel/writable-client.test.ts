import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { withClient } from '../../../src/kernel/db/connection-settings.ts';
import { isUnavailable, openDatabase } from '../../../src/kernel/db/database.ts';
import { startListener } from '../../../src/kernel/db/listener.ts';
import { readDatabaseUrl } from '../../../src/kernel/db/writable-client.ts';
import { WritableHost } from '../../../src/kernel/db/writable-host.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { listenTcp } from '../../support/listening.ts';
import { freeze, hostOf, type Pair, startPair } from '../../support/standby.ts';
import { until } from '../../support/until.ts';

const logger = createLogger('silent');

/** With both hosts, as an operator writes it. */
const urlOf = ({ primary, standby }: Pair) =>
  readDatabaseUrl(
    `postgresql://paywright@${hostOf(standby.url)},${hostOf(primary.url)}/paywright?target_session_attrs=read-write`,
  ) ?? '';

/** An address that leads to one server, and later to another one, like that of a balancer. */
async function startAddress(first: string) {
  let target = first;
  const open = new Set<Socket>();
  const relay = await listenTcp((near) => {
    const far = connect(`${decodeURIComponent(hostOf(target))}/.s.PGSQL.5432`);
    open.add(near);
    far.on('error', () => near.destroy());
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  onTestFinished(() => relay.close());
  return {
    url: `postgres://paywright@127.0.0.1:${relay.port}/paywright`,
    connections: relay.connections,
    leadTo(next: string) {
      target = next;
      for (const socket of open) socket.destroy();
    },
  };
}

it('connections go to the host that accepts writes, also after another has taken over', async () => {
  const pair = await startPair();
  const { primary, standby } = pair;
  onTestFinished(pair.stop);
  const url = urlOf(pair);
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
  await until('the answer of the host that only reads', async () => {
    const unwritten = await db.query('INSERT INTO kept VALUES (2)').catch((error: unknown) => error);
    expect(isUnavailable(unwritten)).toBe(true);
    return String(unwritten).includes('none of the hosts of the database accepts writes now');
  });
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

it('what waits for a primary that stands still is told as soon as another has taken over, and nothing goes back', async () => {
  const pair = await startPair();
  onTestFinished(pair.stop);
  const url = urlOf(pair);
  // By itself it would wait for longer than this test.
  const db = openDatabase({ url, poolSize: 4, logger, limits: { statementMs: 3_600_000 } });
  onTestFinished(() => db.close());
  await db.query('CREATE TABLE kept (id integer PRIMARY KEY)');
  const copy = new pg.Client({ connectionString: pair.standby.url });
  await copy.connect();
  onTestFinished(() => copy.end());
  await until(
    'the table on the standby',
    async () => (await copy.query("SELECT FROM pg_class WHERE relname = 'kept'")).rowCount === 1,
  );

  const thaw = await freeze(pair.primary.url);
  const asked = db.query('INSERT INTO kept VALUES (1)').catch((error: unknown) => error);
  const begun = db.transaction((tx) => tx.query('INSERT INTO kept VALUES (2)')).catch((error: unknown) => error);
  await copy.query('SELECT pg_promote()');
  expect(isUnavailable(await asked)).toBe(true);
  expect(isUnavailable(await begun)).toBe(true);

  // It still believes to be the primary.
  thaw();
  const timelineAt = async (at: string) =>
    withClient({ url: at, applicationName: 'alone' }, async (client) => {
      const { rows } = await client.query('SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)::integer AS timeline');
      return rows[0].timeline as number;
    });
  expect(await timelineAt(pair.primary.url)).toBe(1);
  const since = performance.now();
  // Whoever asks both anew every second, asks a few times.
  await until('a few looks', async () => {
    expect(await timelineAt(url)).toBe(2);
    return performance.now() - since > 4_000;
  });
});

it('a process that starts chooses the newest of two that accept writes', async () => {
  const pair = await startPair();
  onTestFinished(pair.stop);
  const thaw = await freeze(pair.primary.url);
  const copy = new pg.Client({ connectionString: pair.standby.url });
  await copy.connect();
  onTestFinished(() => copy.end());
  await copy.query('SELECT pg_promote()');
  await until(
    'the new primary',
    async () => (await copy.query('SELECT pg_is_in_recovery() AS recovers')).rows[0].recovers === false,
  );
  thaw();
  await withClient({ url: pair.primary.url, applicationName: 'alone' }, (client) => client.query('SELECT 1'));
  const places = [pair.primary.url, pair.standby.url].map((connectionString) => ({ connectionString }));
  for (let start = 0; start < 10; start++) {
    const { host, port } = new pg.Client(places[1]);
    expect(await new WritableHost(places).find()).toMatchObject({ host, port, timeline: 2 });
  }
});

it('a host that only reads gets no connections from one that listens', async () => {
  const pair = await startPair();
  onTestFinished(pair.stop);
  const address = await startAddress(pair.primary.url);
  const listener = await startListener({
    url: address.url,
    logger,
    applicationName: 'listens',
    channels: ['news'],
    onNotification: () => {},
    onDisconnect: () => {},
  });
  onTestFinished(() => listener.stop());
  const count = async (url: string) =>
    withClient({ url, applicationName: 'counts' }, async (client) => {
      const { rows } = await client.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'listens'");
      return Number(rows[0].count);
    });
  expect(await count(pair.primary.url)).toBe(1);
  address.leadTo(pair.standby.url);
  await until('a few attempts', async () => address.connections() > 4);
  await until('the last attempt to end', async () => (await count(pair.standby.url)) <= 1);
  expect(listener.connected).toBe(false);
});

it.each(['EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'ECONNABORTED', 'EADDRNOTAVAIL'])(
  'a host that is away with %s is unavailable',
  (code) => expect(isUnavailable(Object.assign(new Error('away'), { code }))).toBe(true),
);

it('several addresses of one primary are one, and no connection is cut because another one answers first', async () => {
  const pair = await startPair();
  onTestFinished(pair.stop);
  const addresses = [await startAddress(pair.primary.url), await startAddress(pair.primary.url)];
  const hosts = new WritableHost(addresses.map(({ url }) => ({ connectionString: url })));
  const found = await hosts.find();
  const [own, other] = addresses.toSorted((one) => (one.url.includes(`:${found.port}/`) ? -1 : 1));
  const client = new pg.Client({ connectionString: own?.url });
  const lost: unknown[] = [];
  client.on('error', (error) => lost.push(error));
  await client.connect();
  hosts.watch(client, found);
  onTestFinished(() => client.end());
  // Every search asks both.
  const before = other?.connections() ?? 0;
  await until('several searches', async () => (other?.connections() ?? 0) >= before + 2);
  expect(await hosts.find()).toMatchObject(found);
  expect(lost).toEqual([]);
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
});
