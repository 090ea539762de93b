import { within } from '../clock.ts';
import type { Logger } from '../log/logger.ts';
import { backOffMs, createErrorReporter } from './error-reporter.ts';

export interface LoopOptions {
  readonly logger: Logger;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The log message when a run fails. */
  readonly trouble: string;
  /** Runs once and returns how many milliseconds to wait before the next run. */
  run(): Promise<number>;
}

export interface Loop {
  /** The error of the last run. */
  readonly trouble: string | undefined;
  /** Starts the next run at once, or right after the current one. */
  wake(): void;
  /** Waits for the current run, up to a limit. */
  stop(): Promise<void>;
}

const longestBackOffMs = 15_000;
const longestStopMs = 3_000;

/** Runs repeatedly and never gives up: after a failure it retries with backoff. */
export function startLoop({ logger, fields, trouble: what, run }: LoopOptions): Loop {
  const trouble = createErrorReporter(logger, fields, what);
  let stopped = false;
  let endPause = () => {};
  let awake = false;
  let failures = 0;

  async function runOnce(): Promise<number> {
    try {
      const pauseMs = await run();
      failures = 0;
      trouble.over();
      return pauseMs;
    } catch (error) {
      failures += 1;
      if (!stopped) trouble.report(error);
      return backOffMs(failures, { from: 250, most: longestBackOffMs });
    }
  }

  async function runOn(): Promise<void> {
    while (!stopped) {
      awake = false;
      const pauseMs = await runOnce();
      // After a failure the backoff applies even if there is work to do.
      if (!stopped && pauseMs > 0 && !(awake && failures === 0)) await pause(pauseMs);
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const ended = runOn();
  return {
    get trouble() {
      return trouble.last;
    },
    wake() {
      awake = true;
      if (failures === 0) endPause();
    },
    async stop() {
      stopped = true;
      endPause();
      await within(longestStopMs, ended, () => {});
    },
  };
}
