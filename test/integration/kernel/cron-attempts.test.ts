import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { connectionSettings } from '../../../src/kernel/db/connection-settings.ts';
import { openPool } from '../../../src/kernel/db/pool.ts';
import { cronLine } from '../../../src/kernel/jobs/cron-line.ts';
import { defineJob, handleJob } from '../../../src/kernel/jobs/define-job.ts';
import { runLane } from '../../../src/kernel/jobs/run-lane.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const { db, url } = useDatabase();
const pool = openPool({ ...connectionSettings({ url, applicationName: 'cron' }), max: 6 });
afterAll(() => pool.end());

test('what the clock puts in is tried as often as its job says, also when it is made up for later', async () => {
  const once = defineJob({ name: 'count-the-stars', payload: z.unknown(), maxAttempts: 1 });
  const thrice = defineJob({ name: 'count-the-sand', payload: z.unknown(), maxAttempts: 3 });
  // Both were to run in each of the last minutes, while nobody was there.
  await db.query(
    `INSERT INTO graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
     SELECT name, now() - interval '1 hour', now() - interval '4 minutes' FROM unnest($1::text[]) name`,
    [[once.name, thrice.name]],
  );
  const fails = (job: typeof once) =>
    handleJob(job, async () => {
      throw new Error('there are too many');
    });
  const lane = await runLane(pool, createLogger('silent'), {
    name: 'schedules',
    handlers: [fails(once), fails(thrice)],
    crontab: [once, thrice].map((job) => `${cronLine('* * * * *', job)}&fill=10m`),
    slots: 2,
  });
  try {
    const { jobs } = await until('all of them to have failed once', async () => {
      const { rows } = await db.query<{ task: string; attempts: number; most: number }>(
        `SELECT task_identifier AS task, attempts, max_attempts AS most FROM graphile_worker.jobs`,
      );
      const tried = rows.length >= 6 && rows.every(({ attempts }) => attempts > 0);
      return tried ? { jobs: rows } : undefined;
    });
    expect(new Set(jobs.map(({ task, most }) => `${task} ${most}`))).toEqual(
      new Set(['count-the-stars 1', 'count-the-sand 3']),
    );
    // With all its attempts used up a job is never taken again. The clock may have put in a new one meanwhile.
    const { rows } = await db.query(
      `SELECT FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
        WHERE t.identifier = $1 AND j.is_available AND j.locked_at IS NULL AND j.attempts > 0`,
      [once.name],
    );
    expect(rows).toEqual([]);
  } finally {
    await lane.stop();
  }
});
