import type pg from 'pg';
import { connectionSettings } from '../db/connection-settings.ts';
import type { Database } from '../db/database.ts';
import { endPool } from '../db/end.ts';
import { openPool } from '../db/pool.ts';
import type { Logger } from '../log/logger.ts';
import { cronLine } from './cron-line.ts';
import { type JobHandler, jobTimeoutMs } from './define-job.ts';
import { startJobAlarm } from './job-alarm.ts';
import { type Lane, type RunningLane, runLane } from './run-lane.ts';

const unlockEveryMs = 15_000;
const usualSlots = 4;

/**
 * Every lane fetches when the minute's scheduled jobs are added. With the default of 10 seconds all of these connections
 * would be opened and closed every minute, which was a fifth of what an idle sandbox cost in PostgreSQL.
 */
const keepConnectionsMs = 5 * 60_000;

export interface Schedule {
  readonly handler: JobHandler;
  /** Cron notation, UTC. */
  readonly at: string;
}

export interface Worker {
  /** Whether all lanes are running. */
  readonly running: boolean;
  /** The connections on which the lanes fetch jobs. */
  readonly pool: pg.Pool;
  /** Waits for running jobs, up to a limit. Then another process may run them again. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly db: Database;
  readonly url: string;
  readonly logger: Logger;
  readonly handlers: readonly JobHandler[];
  readonly schedules: readonly Schedule[];
  /** Concurrent jobs per lane, where the default does not fit. */
  readonly slots?: Readonly<Record<string, number>>;
}

/** Runs jobs from PostgreSQL, each lane by itself. Any number of workers may share one database; each job runs in one of them. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { db, logger } = options;
  const lanes = sortIntoLanes(options);
  const pool = openJobPool(options, lanes);
  const running: RunningLane[] = [];
  const laneOf = new Map<string, RunningLane>();
  const alarm = startJobAlarm({
    pool,
    logger,
    tasks: lanes.flatMap(({ handlers }) => handlers.map(({ job }) => job.name)),
    wake(tasks) {
      for (const lane of new Set(tasks.map((task) => laneOf.get(task)))) lane?.wake();
    },
  });
  const stopAll = async () => {
    await Promise.allSettled([alarm, ...running].map((part) => part.stop()));
    await endPool(pool);
  };
  try {
    for (const lane of lanes) {
      const started = await runLane(pool, logger, lane, alarm.notify);
      running.push(started);
      for (const { job } of lane.handlers) laneOf.set(job.name, started);
    }
    alarm.notify();
    await unlockAbandoned(db);
  } catch (error) {
    await stopAll();
    throw error;
  }
  const unlocking = setInterval(() => {
    unlockAbandoned(db).then(alarm.notify, (err: unknown) => logger.warn({ err }, 'could not look for abandoned jobs'));
  }, unlockEveryMs).unref();

  return {
    pool,
    get running() {
      return running.every((lane) => lane.running);
    },
    async stop() {
      clearInterval(unlocking);
      await stopAll();
    },
  };
}

/** Scheduled jobs may take long, so they get a lane of their own and delay no other job. */
function sortIntoLanes({ handlers, schedules, slots = {} }: WorkerOptions): readonly Lane[] {
  const lanes = new Map<string, { handlers: JobHandler[]; crontab: string[] }>();
  const laneOf = (name: string) => {
    const lane = lanes.get(name) ?? { handlers: [], crontab: [] };
    lanes.set(name, lane);
    return lane;
  };
  for (const handler of handlers) laneOf(handler.job.lane ?? 'general').handlers.push(handler);
  for (const { handler, at } of schedules) {
    const lane = laneOf(handler.job.lane ?? 'schedules');
    lane.handlers.push(handler);
    lane.crontab.push(cronLine(at, handler.job));
  }
  return Array.from(lanes, ([name, lane]) => ({ name, ...lane, slots: slots[name] ?? usualSlots }));
}

/**
 * One connection per lane for LISTEN, plus as many as any lane can use at once; the jobs themselves use none of them.
 * This pool is separate because graphile-worker cannot handle our bigint parsing.
 */
function openJobPool({ url, logger }: WorkerOptions, lanes: readonly Lane[]): pg.Pool {
  const mostSlots = Math.max(0, ...lanes.map(({ slots }) => slots));
  const settings = connectionSettings({ url, applicationName: 'paywright-worker' });
  const max = lanes.length + mostSlots + 2;
  return openPool({ ...settings, max, idleTimeoutMillis: keepConnectionsMs }, (err) =>
    logger.warn({ err }, 'a connection of the job worker was lost'),
  );
}

/**
 * A killed process leaves its jobs locked. No job runs longer than the timeout, so an older lock is abandoned and the job may run again. Only
 * that one: its worker may live and run others, when it never learned that it has fetched this one.
 */
async function unlockAbandoned(db: Database): Promise<void> {
  await db.query(
    `UPDATE graphile_worker._private_jobs SET locked_at = NULL, locked_by = NULL
      WHERE locked_at < now() - make_interval(secs => $1)`,
    [(2 * jobTimeoutMs) / 1000],
  );
}
