import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sendMessageHandler } from '../../../src/accounts/messages/outbox.ts';
import { defineJob, enqueue, handleJob, type Job } from '../../../src/kernel/jobs/define-job.ts';
import { startWorker, type Worker, type WorkerOptions } from '../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../support/database.ts';
import { postTestMessage } from '../../support/messages.ts';
import { until } from '../../support/until.ts';

const { db, url } = useDatabase();
const secrets = createSecrets('s'.repeat(32));
const logger = createLogger('silent');

const payload = z.object({ id: z.number() });
const inLane = (lane: string) => defineJob({ name: `pay_${lane}`, payload, maxAttempts: 1, lane });
const silent = inLane('SILENT');
const polygon = inLane('POLYGON');

/** Runs that hang until they are let go, as a request does to which nobody answers. */
function hanging(job: Job<typeof payload>) {
  const begun: number[] = [];
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const handler = handleJob(job, async ({ id }) => {
    begun.push(id);
    await released;
  });
  return { begun, handler, letGo };
}

function recording(job: Job<typeof payload>) {
  const done: number[] = [];
  return { done, handler: handleJob(job, async ({ id }) => void done.push(id)) };
}

async function enqueueMany(job: Job<typeof payload>, count: number): Promise<void> {
  await db.transaction(async (tx) => {
    for (let id = 0; id < count; id++) await enqueue(tx, job, { id });
  });
}

const waiting = async (job: Job) => {
  const { rows } = await db.query<{ count: bigint }>(
    'SELECT count(*) FROM graphile_worker.jobs WHERE task_identifier = $1',
    [job.name],
  );
  return Number(rows[0]?.count);
};

let worker: Worker | undefined;
let letAllGo = () => {};
afterEach(async () => {
  letAllGo();
  await worker?.stop();
  worker = undefined;
  await db.query('DELETE FROM graphile_worker._private_jobs');
});

async function start(options: Pick<WorkerOptions, 'handlers'> & Partial<WorkerOptions>): Promise<void> {
  worker = await startWorker({ db, url, logger, schedules: [], ...options });
}

describe('while every slot of a lane hangs and more jobs wait for one', () => {
  test('the other lanes go on, and so does mail', async () => {
    const stuck = hanging(silent);
    letAllGo = stuck.letGo;
    const other = recording(polygon);
    const sent: string[] = [];
    const notifier = { send: async ({ to }: { to: string }) => void sent.push(to) };
    const mail = sendMessageHandler({ db, secrets, notifier, keepText: false });
    await start({ handlers: [stuck.handler, other.handler, mail] });

    await enqueueMany(silent, 40);
    await until('the lane to be full', async () => stuck.begun.length === 4);
    await enqueueMany(polygon, 3);
    await postTestMessage(db, secrets, 'ada@example.com');

    await until('the other lane', async () => other.done.length === 3);
    await until('the mail', async () => sent.length === 1);
    expect(stuck.begun).toHaveLength(4);
    expect(await waiting(silent)).toBe(40);

    stuck.letGo();
    await until('the stuck lane to finish what it had', async () => (await waiting(silent)) === 0);
    expect([...stuck.begun].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id));
  });

  test('nor can what runs by the clock hold anybody up', async () => {
    const nightly = hanging(defineJob({ name: 'nightly', payload, maxAttempts: 1 }));
    letAllGo = nightly.letGo;
    const general = recording(defineJob({ name: 'general', payload, maxAttempts: 1 }));
    // The schedule itself is for the first of January; whatever puts the job in, it runs in the lane of the schedules.
    await start({ handlers: [general.handler], schedules: [{ at: '0 0 1 1 *', handler: nightly.handler }] });
    await enqueueMany(nightly.handler.job as Job<typeof payload>, 10);
    await until('the schedules to be full', async () => nightly.begun.length === 4);
    await enqueueMany(general.handler.job as Job<typeof payload>, 1);
    await until('the other job', async () => general.done.length === 1);
    expect(nightly.begun).toHaveLength(4);
  });

  test('another worker takes what waits in that lane', { tags: ['matrix'] }, async () => {
    const stuck = hanging(silent);
    letAllGo = stuck.letGo;
    await start({ handlers: [stuck.handler], slots: { SILENT: 2 } });
    await enqueueMany(silent, 20);
    await until('the lane to be full', async () => stuck.begun.length === 2);
    const healthy = recording(silent);
    const second = await startWorker({ db, url, logger, handlers: [healthy.handler], schedules: [] });
    try {
      await until('all but what hangs', async () => healthy.done.length === 18);
      expect(stuck.begun).toHaveLength(2);
    } finally {
      await second.stop();
    }
  });
});

test('a lane has as many slots as it was given', async () => {
  const stuck = hanging(silent);
  letAllGo = stuck.letGo;
  const other = recording(polygon);
  await start({ handlers: [stuck.handler, other.handler], slots: { SILENT: 1 } });
  await enqueueMany(silent, 3);
  await until('the lane to be full', async () => stuck.begun.length === 1);
  await enqueueMany(polygon, 5);
  await until('the other lane', async () => other.done.length === 5);
  expect(stuck.begun).toHaveLength(1);
});

test('stopping waits for what is under way in every lane, and leaves the rest for the next worker', async () => {
  const lanes = [hanging(silent), hanging(polygon)];
  letAllGo = () => lanes.forEach((lane) => void lane.letGo());
  await start({ handlers: lanes.map(({ handler }) => handler), slots: { SILENT: 2, POLYGON: 2 } });
  const first = worker;
  expect(first?.running).toBe(true);
  await enqueueMany(silent, 10);
  await enqueueMany(polygon, 10);
  await until('both lanes to be full', async () => lanes.every(({ begun }) => begun.length === 2));
  worker = undefined;
  let stopped = false;
  const stopping = first?.stop().then(() => {
    stopped = true;
  });
  await until('what was taken ahead to be given back', async () => {
    const { rows } = await db.query('SELECT FROM graphile_worker.jobs WHERE locked_at IS NOT NULL');
    return rows.length === 4;
  });
  expect(stopped).toBe(false);
  letAllGo();
  await stopping;
  expect(first?.running).toBe(false);
  expect([await waiting(silent), await waiting(polygon)]).toEqual([8, 8]);

  const next = [recording(silent), recording(polygon)];
  await start({ handlers: next.map(({ handler }) => handler) });
  await until('the rest', async () => next.every(({ done }) => done.length === 8));
});

test('a connection that is lost while the end of a job is written down ends neither the process nor the lane', async () => {
  const stuck = hanging(silent);
  letAllGo = stuck.letGo;
  const other = recording(polygon);
  await start({ handlers: [stuck.handler, other.handler] });
  await enqueueMany(silent, 1);
  await until('the job to begin', async () => stuck.begun.length === 1);
  await db.transaction(async (tx) => {
    await tx.query('SELECT FROM graphile_worker._private_jobs FOR UPDATE');
    stuck.letGo();
    await until('its end to be lost', async () => {
      // A transaction that stays silent for long is ended.
      await tx.query('SELECT');
      const { rows } = await db.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'paywright-worker' AND wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
  });
  await until('the lane to end', async () => worker?.running === false);
  await enqueueMany(polygon, 1);
  await until('the other lane', async () => other.done.length === 1);
  await until('the lane to begin again', async () => worker?.running === true);
  await enqueueMany(silent, 1);
  await until('a new job in it', async () => stuck.begun.length === 2);
});

describe('a job that is to run later, unless it runs sooner', () => {
  const dueIn = async (key: string) => {
    const { rows } = await db.query<{ seconds: number }>(
      'SELECT extract(epoch FROM run_at - now())::float8 AS seconds FROM graphile_worker._private_jobs WHERE key = $1',
      [key],
    );
    return rows.map(({ seconds }) => seconds);
  };

  test.each([
    ['is not put off', 30_000, 60_000],
    ['is brought forward', 60_000, 30_000],
  ])('%s by another look', async (_what, first, second) => {
    for (const delayMs of [first, second]) {
      await enqueue(db, polygon, { id: 1 }, { key: 'looked-at-twice', delayMs, unlessSooner: true });
    }
    const [seconds, ...more] = await dueIn('looked-at-twice');
    expect(more).toEqual([]);
    expect(seconds).toBeLessThanOrEqual(30);
    expect(seconds).toBeGreaterThan(0);
  });
});
