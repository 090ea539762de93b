import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Runner, run, type WorkerEvents, Logger as WorkerLogger } from 'graphile-worker';
import type pg from 'pg';
import { within } from '../clock.ts';
import type { Logger } from '../log/logger.ts';
import type { JobHandler } from './define-job.ts';

export interface Lane {
  readonly name: string;
  readonly handlers: readonly JobHandler[];
  /** One line per scheduled job. */
  readonly crontab: readonly string[];
  readonly slots: number;
}

export interface RunningLane {
  /** False while the lane restarts, after it could not record a job's result. */
  readonly running: boolean;
  /** Fetches jobs now. A lane that has fetched a moment ago waits for about `deafMs`. */
  wake(): void;
  /** Waits for running jobs, up to a limit. Then another process may run them again. */
  stop(): Promise<void>;
}

/** Notifications and the alarm of due jobs wake a lane. This only bounds the harm of a mistake in either. */
const pollMs = 5 * 60_000;

/** graphile-worker waits longer than this before it retries a failed job, and stores that within it. */
const failureStoredMs = 1_000;

/**
 * Every lane is notified of every new job, even of another lane's. After a fetch that found nothing, a lane ignores
 * notifications for about this long; otherwise one busy lane would make all lanes query equally often.
 */
const deafMs = 20;

/** A lane fetches up to `slots` jobs ahead. A job that finds no free slot within this time is returned to the queue. */
const takenAheadMs = 5_000;

const restartMs = 1_000;
const longestStopMs = 8_000;
const longestLeaveMs = 2_000;
const sayAgainMs = 60_000;

/**
 * Runs the jobs of one lane, and calls `onJobs` when it has heard of new ones or of one to retry. graphile-worker shuts itself down when it
 * could not store a job's result, and may never come to the end of that
 * (https://github.com/graphile/worker/issues/636). So a new runner is started as soon as one begins to.
 */
export async function runLane(pool: pg.Pool, logger: Logger, lane: Lane, onJobs = () => {}): Promise<RunningLane> {
  const log = sayRarely(logger, lane.name);
  let fetchNow = () => {};
  const poolIds: string[] = [];
  const events: WorkerEvents = new EventEmitter();
  events.on('localQueue:init', ({ localQueue }) => {
    fetchNow = () => localQueue.pulse(1);
  });
  events.on('pool:create', ({ workerPool }) => void poolIds.push(workerPool.id));
  catchLosses(events, log);
  events.on('pool:listen:success', onJobs);
  events.on('pool:listen:notification', onJobs);
  events.on('job:error', () => void setTimeout(onJobs, failureStoredMs).unref());

  const jobs = new Set<Promise<void>>();
  const start = async () => {
    const runner = await startRunner({ pool, log, lane, events, jobs });
    const ending = Promise.race([once(events, 'pool:gracefulShutdown'), runner.promise.catch(() => {})]);
    return { ending, stop: () => runner.stop().catch(() => {}) };
  };
  let runner: Awaited<ReturnType<typeof start>> | undefined = await start();
  let stopped = false;

  async function keepRunning(): Promise<void> {
    while (!stopped) {
      await runner?.ending;
      if (stopped) return;
      log('the lane ended; restarting it');
      // Ends its schedules. The jobs that it has begun go on.
      void runner?.stop();
      runner = undefined;
      await sleep(restartMs);
      if (!stopped) runner = await start().catch((error: unknown) => void log(`restart failed: ${String(error)}`));
    }
  }

  async function finish(): Promise<void> {
    await runner?.stop();
    await kept;
    // One that was just being started.
    await runner?.stop();
    await Promise.allSettled(jobs);
  }

  /** As if they had not begun, so that those with a single attempt run again, too. */
  async function leaveJobs(): Promise<void> {
    logger.warn(
      { lane: lane.name, jobs: jobs.size },
      'a lane did not end in time: its jobs begin again in another process',
    );
    const left = pool.query(
      `UPDATE graphile_worker._private_jobs SET locked_at = NULL, locked_by = NULL, attempts = greatest(0, attempts - 1)
        WHERE locked_by = ANY ($1)`,
      [poolIds],
    );
    await within<unknown>(longestLeaveMs, left, () => {});
  }

  const kept = keepRunning();
  return {
    get running() {
      return runner !== undefined;
    },
    wake: () => fetchNow(),
    async stop() {
      stopped = true;
      const isIdle = finish().then(() => true);
      if (!(await within(longestStopMs, isIdle, () => false))) await leaveJobs();
      runner = undefined;
    },
  };
}

/**
 * Where it cannot return its jobs to a database that is gone, graphile-worker shuts its pool down by itself and leaves the failures of that to
 * nobody: the process would end. Such jobs are taken over like those of a process that has ended.
 */
export function catchLosses(events: WorkerEvents, log: (message: string) => void): void {
  events.on('pool:create', ({ workerPool }) => {
    const { gracefulShutdown } = workerPool;
    workerPool.gracefulShutdown = (message) => {
      const ended = gracefulShutdown.call(workerPool, message);
      Promise.resolve(ended).catch(() => {});
      return ended;
    };
  });
  events.on('localQueue:init', ({ localQueue }) => {
    const queue = localQueue as unknown as { background(work: Promise<unknown>): void };
    const { background } = queue;
    queue.background = (work) =>
      background.call(
        queue,
        work.catch((error: unknown) => log(String(error))),
      );
  });
}

/**
 * The same pool for graphile-worker. It releases its listening connection twice when that breaks while the lane stops, and leaves the error
 * of the second release to nobody: the process would end. And where a connection fails with a code that it knows, it sleeps for up to two
 * minutes, and the lane hears nothing: without the code, the next alarm fetches again.
 */
function poolForWorker(pool: pg.Pool): pg.Pool {
  type Connected = Parameters<Parameters<pg.Pool['connect']>[0]>;
  const connect = (callback?: (...connected: Connected) => void) => {
    if (callback === undefined) return pool.connect().catch(hideCode);
    return pool.connect((error, client, release) => {
      if (client === undefined) return callback(error, client, release);
      let isReleased = false;
      callback(error, client, (broken) => {
        if (!isReleased) release(broken);
        isReleased = true;
      });
    });
  };
  return Object.create(pool, { connect: { value: connect } });
}

function hideCode(error: unknown): never {
  throw new Error(`no connection: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
}

interface RunnerOptions {
  readonly pool: pg.Pool;
  readonly log: (message: string) => void;
  readonly lane: Lane;
  readonly events: WorkerEvents;
  /** Those that are running. */
  readonly jobs: Set<Promise<void>>;
}

function startRunner({ pool, log, lane, events, jobs }: RunnerOptions): Promise<Runner> {
  const { handlers, crontab, slots } = lane;
  const runJob = (handler: JobHandler, payload: unknown) => {
    const running = handler.run(payload).finally(() => jobs.delete(running));
    jobs.add(running);
    return running;
  };
  return run({
    pgPool: poolForWorker(pool),
    events,
    concurrency: slots,
    pollInterval: pollMs,
    noHandleSignals: true,
    logger: new WorkerLogger(() => (level, message) => {
      if (level === 'error' || level === 'warning') log(message);
    }),
    taskList: Object.fromEntries(
      handlers.map((handler) => [handler.job.name, (payload: unknown) => runJob(handler, payload)]),
    ),
    crontab: crontab.join('\n'),
    preset: {
      worker: {
        // The lane fetches jobs, not each slot, so an idle lane costs the same however many slots it has.
        localQueue: {
          size: slots,
          ttl: takenAheadMs,
          refetchDelay: { durationMs: deafMs, threshold: 0, maxAbortThreshold: Number.POSITIVE_INFINITY },
        },
        // graphile-worker awaits the write of a job's result only in batch mode. Otherwise a failed write would be an
        // unhandled rejection, which ends the process.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
}

/** While the database is unreachable every fetch fails the same way; one log line per minute is enough. */
function sayRarely(logger: Logger, lane: string): (message: string) => void {
  let last = { message: '', at: Number.NEGATIVE_INFINITY };
  return (message) => {
    const at = performance.now();
    if (message === last.message && at - last.at < sayAgainMs) return;
    last = { message, at };
    logger.warn({ job: true, lane }, message);
  };
}
