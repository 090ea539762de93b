import { type Runner, run, Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import { connectionSettings } from '../db/connection-settings.ts';
import type { Database } from '../db/database.ts';
import type { Logger } from '../logger.ts';
import { type JobHandler, jobTimeoutMs } from './define-job.ts';

const unlockEveryMs = 15_000;

export interface Schedule {
  readonly handler: JobHandler;
  /** Cron notation, UTC. */
  readonly at: string;
}

export interface Worker {
  readonly running: boolean;
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly db: Database;
  readonly url: string;
  readonly logger: Logger;
  readonly handlers: readonly JobHandler[];
  readonly schedules: readonly Schedule[];
}

/** Runs jobs from PostgreSQL. Any number of workers may share one database: each job is taken by one of them. */
export async function startWorker({ db, url, logger, handlers, schedules }: WorkerOptions): Promise<Worker> {
  const all = [...handlers, ...schedules.map((schedule) => schedule.handler)];
  // Connections of its own: graphile-worker cannot bear that ours read a bigint as a bigint.
  const pool = new pg.Pool({ ...connectionSettings({ url, applicationName: 'paywright-worker' }), max: 6 });
  pool.on('error', (err) => {
    if (!pool.ending) logger.warn({ err }, 'a connection of the job worker was lost');
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  const runner: Runner = await run({
    pgPool: pool,
    concurrency: 4,
    pollInterval: 500,
    noHandleSignals: true,
    logger: new WorkerLogger(() => (level, message) => {
      if (level === 'error' || level === 'warning') logger.warn({ job: true }, message);
    }),
    taskList: Object.fromEntries(all.map((handler) => [handler.job.name, (payload: unknown) => handler.run(payload)])),
    crontab: schedules.map(({ at, handler }) => `${at} ${handler.job.name}`).join('\n'),
  });
  let running = true;
  runner.promise.then(
    () => {
      running = false;
    },
    (err: unknown) => {
      running = false;
      logger.error({ err }, 'the job worker ended');
    },
  );
  const unlocking = setInterval(() => {
    unlockAbandoned(db).catch((err: unknown) => logger.warn({ err }, 'could not look for abandoned jobs'));
  }, unlockEveryMs).unref();
  await unlockAbandoned(db);

  return {
    get running() {
      return running;
    },
    async stop() {
      clearInterval(unlocking);
      await runner.stop();
      await pool.end();
    },
  };
}

/**
 * A process that was killed leaves the jobs it was at locked. No job runs for longer than the time-out, so a lock that is
 * older belongs to nobody, and the job is somebody's again.
 */
async function unlockAbandoned(db: Database): Promise<void> {
  await db.query(
    `SELECT graphile_worker.force_unlock_workers(array_agg(DISTINCT locked_by)) FROM graphile_worker._private_jobs
      WHERE locked_at < now() - make_interval(secs => $1) HAVING count(*) > 0`,
    [(2 * jobTimeoutMs) / 1000],
  );
}
