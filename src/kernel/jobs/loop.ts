import { within } from '../clock.ts';
import type { Logger } from '../log/logger.ts';
import { backOffMs, createErrorReporter } from './error-reporter.ts';
import type { Wakes } from './wakes.ts';

interface CommonOptions {
  readonly logger: Logger;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The log message when a run fails. */
  readonly trouble: string;
  /** The longest pause after failures. */
  readonly mostBackOffMs?: number;
  /** A notified run begins no sooner than this after the run before it, so that many notifications cost one run. */
  readonly paceMs?: number;
}

interface PacedOptions extends CommonOptions {
  /** Runs once and returns how many milliseconds to wait before the next run. */
  run(): Promise<number>;
  readonly rest?: undefined;
}

interface RestingOptions extends CommonOptions {
  /** Returns `rest` when there is no work. A notification starts the next run. */
  run(): Promise<number | 'rest'>;
  readonly rest: Rest;
  readonly paceMs: number;
}

export type LoopOptions = PacedOptions | RestingOptions;

/** What ends a rest. */
interface Rest {
  readonly wakes: Wakes;
  readonly topic: string;
}

export interface Loop {
  /** The error of the last run. */
  readonly trouble: string | undefined;
  /** Starts the next run at once, or right after the current one. */
  wake(): void;
  /** Starts the next run as soon as the pace allows. */
  notify(): void;
  /** The same, even after a failure: what was gone is back. */
  retry(): void;
  /** Waits for the current run, up to a limit. */
  stop(): Promise<void>;
}

const longestBackOffMs = 15_000;
const longestStopMs = 3_000;

/** Runs repeatedly and never gives up: after a failure it retries with backoff. */
export function startLoop(options: LoopOptions): Loop {
  const { logger, fields, trouble: what, rest, paceMs = 0, mostBackOffMs = longestBackOffMs } = options;
  const trouble = createErrorReporter(logger, fields, what);
  let stopped = false;
  let endPause = () => {};
  let endPauseIn = (_ms: number) => {};
  let awake = false;
  let notified = false;
  let beganAt = 0;
  let failures = 0;

  async function runOnce(): Promise<number> {
    try {
      const pauseMs = options.rest === undefined ? await options.run() : await runOrRest(options);
      failures = 0;
      trouble.over();
      return pauseMs;
    } catch (error) {
      failures += 1;
      if (!stopped) trouble.report(error);
      return backOffMs(failures, { from: 250, most: mostBackOffMs });
    }
  }

  async function runOrRest({ run, rest: { wakes } }: RestingOptions): Promise<number> {
    const pause = await run();
    return pause === 'rest' ? wakes.restMs(paceMs) : pause;
  }

  async function runOn(): Promise<void> {
    let pauseMs = 1;
    while (!stopped) {
      // A run without a pause goes on where the last one ended: what was told meanwhile is for the next round.
      if (pauseMs > 0) {
        awake = false;
        notified = false;
      }
      beganAt = performance.now();
      pauseMs = await runOnce();
      // After a failure the backoff applies even if there is work to do.
      if (!stopped && pauseMs > 0 && !(awake && failures === 0)) await pause(pauseMs);
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const endsAt = performance.now() + ms;
      let timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      endPauseIn = (soonerMs) => {
        if (performance.now() + soonerMs >= endsAt) return;
        clearTimeout(timer);
        timer = setTimeout(resolve, soonerMs);
      };
      if (notified) endAtPace();
    });
  }

  function endAtPace(): void {
    if (failures === 0) endPauseIn(Math.max(0, beganAt + paceMs - performance.now()));
  }

  function retry(): void {
    failures = 0;
    endAtPace();
  }

  function notify(): void {
    notified = true;
    endAtPace();
  }

  const stopListening = rest && [rest.wakes.on(rest.topic, notify), rest.wakes.onReturn(retry)];
  const ended = runOn();
  return {
    get trouble() {
      return trouble.last;
    },
    wake() {
      awake = true;
      if (failures === 0) endPause();
    },
    notify,
    retry,
    async stop() {
      stopped = true;
      for (const stop of stopListening ?? []) stop();
      endPause();
      await within(longestStopMs, ended, () => {});
    },
  };
}
