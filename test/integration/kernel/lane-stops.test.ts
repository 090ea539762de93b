import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { connectionSettings } from '../../../src/kernel/db/connection-settings.ts';
import { openPool } from '../../../src/kernel/db/pool.ts';
import { runLane } from '../../../src/kernel/jobs/run-lane.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';
import { listenTcp } from '../../support/listening.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();

test('a connection that breaks while its lane stops does not end the process', async () => {
  const unhandled: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of others) process.on('unhandledRejection', listener);
  });

  const target = new URL(database.url);
  const folder = decodeURIComponent(target.hostname);
  const socketFile = readdirSync(folder).find((name) => /^\.s\.PGSQL\.\d+$/.test(name)) ?? '';
  let listening: Socket | undefined;
  const proxy = await listenTcp((near) => {
    const far = connect(join(folder, socketFile));
    near.on('data', (bytes) => {
      if (bytes.includes('LISTEN "jobs:insert"')) listening = near;
      else far.write(bytes);
    });
    far.pipe(near);
    near.on('close', () => far.destroy());
  });
  onTestFinished(() => proxy.close());

  const url = `postgresql://${target.username}@127.0.0.1:${proxy.port}${target.pathname}`;
  const pool = openPool({ ...connectionSettings({ url, applicationName: 'lane' }), max: 4 });
  const clients = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => clients.add(client));
  const hears = () => [...clients].some((client) => client.listenerCount('notification') > 0);
  const lane = await runLane(pool, createLogger('silent'), { name: 'TEST', handlers: [], crontab: [], slots: 2 });
  await until('LISTEN', async () => listening !== undefined && hears());

  const stopped = lane.stop();
  await until('the lane to release its connection', async () => !hears());
  listening?.destroy();
  await stopped;
  await pool.end();
  await turn();
  expect(unhandled).toEqual([]);
});
