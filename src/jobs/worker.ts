import { type Runner, run, Logger as WorkerLogger } from 'graphile-worker';
import type pg from 'pg';
import type { Logger } from '../logger.ts';
import type { JobHandler } from './define-job.ts';

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
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly handlers: readonly JobHandler[];
  readonly schedules: readonly Schedule[];
}

/** Runs jobs from PostgreSQL. Any number of workers may share one database: each job is taken by one of them. */
export async function startWorker({ pool, logger, handlers, schedules }: WorkerOptions): Promise<Worker> {
  const all = [...handlers, ...schedules.map((schedule) => schedule.handler)];
  const runner: Runner = await run({
    pgPool: pool,
    concurrency: 4,
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
  return {
    get running() {
      return running;
    },
    stop: () => runner.stop(),
  };
}
