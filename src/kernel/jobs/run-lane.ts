import { run, Logger as WorkerLogger } from 'graphile-worker';
import type pg from 'pg';
import type { Logger } from '../log/logger.ts';
import type { JobHandler } from './define-job.ts';

export interface Lane {
  readonly name: string;
  readonly handlers: readonly JobHandler[];
  /** One line for each of its jobs that run by the clock. */
  readonly crontab: readonly string[];
  /** How many of its jobs run at once. */
  readonly slots: number;
}

export interface RunningLane {
  /** False while it begins again, after it could not write down what became of a job. */
  readonly running: boolean;
  stop(): Promise<void>;
}

/** How late a job may be at most that was to run later, or whose announcement was missed. */
const pollMs = 500;

/**
 * Every lane hears of every new job, also of those that are not for it. One that has just looked in vain is deaf for about
 * this long, else a busy lane would make all the others ask the database as often as itself.
 */
const deafMs = 20;

/** As many jobs as there are slots are taken ahead; what has found no slot by then is given back for others to take. */
const takenAheadMs = 5_000;

const restartMs = 1_000;
const sayAgainMs = 60_000;

/** A runner that knows no other lane's jobs, and so never takes one. Should it end by itself, another takes its place. */
export async function runLane(pool: pg.Pool, logger: Logger, lane: Lane): Promise<RunningLane> {
  const log = sayRarely(logger, lane.name);
  const start = () => startRunner(pool, log, lane);
  let runner: Awaited<ReturnType<typeof start>> | undefined = await start();
  let stopped = false;

  async function keepRunning(): Promise<void> {
    while (!stopped) {
      await runner?.promise.catch(() => {});
      runner = undefined;
      if (stopped) return;
      logger.error({ lane: lane.name }, 'a lane of the job worker ended and begins again');
      await new Promise((resolve) => setTimeout(resolve, restartMs));
      runner = await start().catch((error: unknown) => void log(`it cannot begin again: ${String(error)}`));
    }
    await runner?.stop();
  }

  const ended = keepRunning();
  return {
    get running() {
      return runner !== undefined;
    },
    async stop() {
      stopped = true;
      await runner?.stop().catch(() => {});
      await ended;
    },
  };
}

function startRunner(pool: pg.Pool, log: (message: string) => void, { handlers, crontab, slots }: Lane) {
  return run({
    pgPool: pool,
    concurrency: slots,
    pollInterval: pollMs,
    noHandleSignals: true,
    logger: new WorkerLogger(() => (level, message) => {
      if (level === 'error' || level === 'warning') log(message);
    }),
    taskList: Object.fromEntries(
      handlers.map((handler) => [handler.job.name, (payload: unknown) => handler.run(payload)]),
    ),
    crontab: crontab.join('\n'),
    preset: {
      worker: {
        // The lane looks for jobs, not each of its slots: an idle lane costs the same however many it has.
        localQueue: {
          size: slots,
          ttl: takenAheadMs,
          refetchDelay: { durationMs: deafMs, threshold: 0, maxAbortThreshold: Number.POSITIVE_INFINITY },
        },
        // Only in batches, however small, is it waited for that the end of a job is written down. Otherwise nobody would
        // notice that it was not, except the process: an unhandled rejection would end it.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
}

/** While the database is away every look for jobs fails alike; once a minute is enough to say so. */
function sayRarely(logger: Logger, lane: string): (message: string) => void {
  let last = { message: '', at: Number.NEGATIVE_INFINITY };
  return (message) => {
    const at = performance.now();
    if (message === last.message && at - last.at < sayAgainMs) return;
    last = { message, at };
    logger.warn({ job: true, lane }, message);
  };
}
