import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineJob, enqueue, handleJob } from '../../../src/kernel/jobs/define-job.ts';
import { startJobAlarm } from '../../../src/kernel/jobs/job-alarm.ts';
import { startWakes } from '../../../src/kernel/jobs/wakes.ts';
import { startWorker } from '../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');

async function start() {
  const wakes = await startWakes({ url, logger });
  onTestFinished(() => wakes.stop());
  return wakes;
}

/** Resolves with what its function is first called with. */
function nextCall<Given = void>() {
  let call: (given: Given) => void = () => {};
  const promise = new Promise<Given>((resolve) => {
    call = resolve;
  });
  return { promise, call: (given: Given) => call(given) };
}

describe('a loop that rests', () => {
  it.each([
    {
      topic: 'events',
      work: `INSERT INTO ledger.events (id, account_id, type, data, created_at)
             VALUES (gen_random_uuid(), 1, 'payment.sent', '{}', now())`,
    },
    {
      topic: 'deliveries',
      work: `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
             VALUES ('dlv_1', 1, 'wh_1', 'evt_1', 'payment.sent', '{}', now())`,
    },
    {
      topic: 'sweeps/BASE',
      work: "INSERT INTO unswept_changes (chain, asset, address) VALUES ('BASE', 'USDC', '0x1')",
    },
    {
      topic: 'arrivals/BASE',
      work: `INSERT INTO undecided_arrivals (chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs)
             VALUES ('BASE', '0x1', 0, 1, '0x1', '0x2', 'USDC', 1, '{}')`,
    },
  ])('is woken by the commit of its work: $topic', async ({ topic, work }) => {
    const wakes = await start();
    const woken = nextCall();
    const others: string[] = [];
    wakes.on(topic, woken.call);
    wakes.on('sweeps/OP', () => void others.push('sweeps/OP'));
    await db.query(work);
    await woken.promise;
    expect(others).toEqual([]);
    expect(wakes.restMs(100)).toBeGreaterThan(100);
  });

  it('keeps its pace while notifications are lost, and is woken when they are and when they arrive again', async () => {
    const wakes = await start();
    const lost = nextCall();
    const back = nextCall();
    let isLost = false;
    wakes.on('events', () => {
      if (!isLost) {
        expect(wakes.restMs(100)).toBe(100);
        lost.call();
      } else if (wakes.restMs(100) > 100) back.call();
      isLost = true;
    });
    await db.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'paywright-wakes'");
    await lost.promise;
    await back.promise;
  });
});

const job = defineJob({ name: 'look-later', payload: z.object({}), maxAttempts: 3 });
const other = defineJob({ name: 'look-elsewhere', payload: z.object({}), maxAttempts: 3 });

describe('a job that is due later', () => {
  it('runs when it is due, although its lane asks for nothing meanwhile', async () => {
    const ran = nextCall();
    const handlers = [handleJob(job, async () => ran.call())];
    const worker = await startWorker({ db, url, logger, handlers, schedules: [] });
    onTestFinished(() => worker.stop());
    await enqueue(db, job, {}, { delayMs: 300 });
    await ran.promise;
  });

  it('is found when no notification told of it', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await enqueue(db, job, {});
    const woken = nextCall<readonly string[]>();
    const alarm = startJobAlarm({ pool, logger, tasks: ['look-later'], wake: woken.call });
    onTestFinished(async () => {
      await alarm.stop();
      await pool.end();
    });
    expect(await woken.promise).toEqual(['look-later']);
  });

  it('is looked for until its lane has taken it, behind whatever backlog of others', async () => {
    await Promise.all(Array.from({ length: 1_100 }, () => enqueue(db, other, {})));
    await enqueue(db, job, {});
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const thrice = nextCall();
    let looks = 0;
    const alarm = startJobAlarm({
      pool,
      logger,
      tasks: ['look-later'],
      wake(tasks) {
        expect(tasks).toEqual(['look-later']);
        if (++looks === 3) thrice.call();
      },
    });
    onTestFinished(async () => {
      await alarm.stop();
      await pool.end();
    });
    await thrice.promise;
  });

  it('runs at once when the lane has just found nothing, however often', async () => {
    const runs: (() => void)[] = [];
    const handlers = [handleJob(job, async () => runs.shift()?.())];
    const worker = await startWorker({ db, url, logger, handlers, schedules: [], slots: { general: 1 } });
    onTestFinished(() => worker.stop());
    for (let round = 0; round < 20; round++) {
      const ran = nextCall();
      runs.push(ran.call);
      await enqueue(db, job, {});
      await ran.promise;
    }
  });
});
