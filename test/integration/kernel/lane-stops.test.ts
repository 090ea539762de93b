import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { connectionSettings } from '../../../src/kernel/db/connection-settings.ts';
import { endPool } from '../../../src/kernel/db/end.ts';
import { openPool } from '../../../src/kernel/db/pool.ts';
import { defineJob, enqueue, handleJob } from '../../../src/kernel/jobs/define-job.ts';
import { runLane } from '../../../src/kernel/jobs/run-lane.ts';
import { startWorker } from '../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';
import { listenTcp } from '../../support/listening.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();
const job = defineJob({ name: 'pay', payload: z.object({ id: z.number() }), maxAttempts: 3 });

/** A lane whose jobs run until they are let go, on connections that can be refused. */
async function startHangingLane() {
  onTestFinished(async () => void (await database.db.query('DELETE FROM graphile_worker._private_jobs')));
  const pool = openPool({ ...connectionSettings({ url: database.url, applicationName: 'lane' }), max: 6 });
  onTestFinished(() => endPool(pool));
  const begun: number[] = [];
  const letGo = new Map<number, () => void>();
  const handler = handleJob(job, async ({ id }) => {
    begun.push(id);
    await new Promise<void>((resolve) => letGo.set(id, resolve));
  });
  let isRefused = false;
  const connect = pool.connect.bind(pool) as (...given: unknown[]) => unknown;
  pool.connect = ((...given: unknown[]) =>
    isRefused ? Promise.reject(new Error('the database is gone')) : connect(...given)) as typeof pool.connect;
  const lane = await runLane(pool, createLogger('silent'), {
    name: 'TEST',
    handlers: [handler],
    crontab: [],
    slots: 4,
  });
  return {
    lane,
    begun,
    finish: (id: number) => letGo.get(id)?.(),
    refuse(whether: boolean) {
      isRefused = whether;
    },
    async begin(id: number) {
      await enqueue(database.db, job, { id });
      // In the service an alarm wakes a lane that does not listen yet.
      await until(`job ${id}`, async () => {
        lane.wake();
        return begun.includes(id);
      });
    },
  };
}

const left = async () => {
  const { rows } = await database.db.query<{ id: number; locked: boolean }>(
    `SELECT (payload->>'id')::int AS id, locked_by IS NOT NULL AS locked FROM graphile_worker._private_jobs ORDER BY 1`,
  );
  return rows.map(({ id, locked }) => (locked ? `${id} running` : `${id} waiting`));
};

test('a lane goes on, and stops, after the result of a job could not be stored', async () => {
  const { lane, begin, begun, finish, refuse } = await startHangingLane();
  await begin(1);
  await begin(2);
  refuse(true);
  finish(1);
  await until('the lane to break', async () => !lane.running);
  refuse(false);
  // Its result is stored while the broken runner shuts down.
  finish(2);
  await until('the result', async () => (await left()).join() === '1 running');
  await begin(3);
  expect(lane.running).toBe(true);
  finish(3);
  await until('the result', async () => (await left()).join() === '1 running');
  await lane.stop();
  expect(begun).toEqual([1, 2, 3]);
});

test('of the jobs of one worker only those that it holds for too long are unlocked', async () => {
  await enqueue(database.db, job, { id: 1 });
  await enqueue(database.db, job, { id: 2 });
  await database.db.query(
    `UPDATE graphile_worker._private_jobs SET locked_by = 'living', attempts = 1,
            locked_at = now() - CASE WHEN payload->>'id' = '1' THEN interval '61 seconds' ELSE interval '1 second' END`,
  );
  const options = { db: database.db, url: database.url, logger: createLogger('silent') };
  const worker = await startWorker({ ...options, handlers: [], schedules: [] });
  await worker.stop();
  expect(await left()).toEqual(['1 waiting', '2 running']);
  await database.db.query('DELETE FROM graphile_worker._private_jobs');
});

test('a job that does not end is given back to others when its lane stops', { tags: ['matrix'] }, async () => {
  const { lane, begin, finish } = await startHangingLane();
  await begin(1);
  await begin(2);
  const stopped = lane.stop();
  finish(2);
  await stopped;
  expect(await left()).toEqual(['1 waiting']);
  finish(1);
});

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
