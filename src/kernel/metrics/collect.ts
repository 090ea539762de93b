import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { describeTrouble } from '../jobs/trouble.ts';
import type { Logger } from '../log/logger.ts';
import { refuseTwice } from '../refuse-twice.ts';
import type { MetricSource, Readings, Sample } from './metric.ts';
import { renderMetrics } from './render.ts';

export interface CollectorOptions {
  readonly sources: readonly MetricSource[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long whoever asks waits for a source. */
  readonly patienceMs?: number;
}

export interface Collector {
  /** Everything in the text form of Prometheus. Never fails: what cannot be read is missing, and is named as down. */
  scrape(): Promise<string>;
  stop(): void;
}

const usualMaxAgeMs = 5_000;

/** What is read by itself may be late by this many times before it is taken for missing. */
const mayMiss = 3;

const up = {
  paywright_metrics_source_up: {
    type: 'gauge',
    help: 'Whether the metrics of this source could be read; 0: they are missing from this answer.',
  },
} as const;

export function createCollector({ sources, clock, logger, patienceMs = 2_000 }: CollectorOptions): Collector {
  refuseTwice(
    'metric',
    sources.flatMap(({ metrics }) => Object.keys(metrics)),
  );
  let stopped = false;
  const say = (source: string, trouble: string) => {
    // Whoever is asked while everything ends may well not answer.
    if (!stopped) logger.warn({ source, trouble }, 'metrics cannot be read');
  };
  const read = sources.map((source) => ({ source, reader: createReader(source, { clock, say }) }));
  const timers = read.flatMap(({ source: { everyMs }, reader }) => {
    if (everyMs === undefined) return [];
    void reader.begin();
    return [setInterval(() => void reader.begin(), everyMs).unref()];
  });

  return {
    async scrape() {
      const readings = await Promise.all(read.map(({ reader }) => reader.current(patienceMs)));
      const told: Sample[] = sources.map(({ name }, index) => ({
        labels: { source: name },
        value: readings[index] === undefined ? 0 : 1,
      }));
      return (
        sources.map(({ metrics }, index) => renderMetrics(metrics, readings[index] ?? {})).join('') +
        renderMetrics(up, { paywright_metrics_source_up: told })
      );
    },
    stop() {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** Reads a source once at a time, however many ask, and remembers for a while what it said or that it failed. */
function createReader(
  { name, maxAgeMs = usualMaxAgeMs, everyMs, read }: MetricSource,
  { clock, say }: { readonly clock: Clock; readonly say: (source: string, trouble: string) => void },
) {
  const usableMs = everyMs === undefined ? maxAgeMs : everyMs * mayMiss;
  let last: { readonly readings: Readings | undefined; readonly at: number } | undefined;
  let underWay: Promise<void> | undefined;
  let trouble: string | undefined;

  async function readOnce(): Promise<void> {
    try {
      last = { readings: await read(), at: clock.now() };
      trouble = undefined;
    } catch (error) {
      if (everyMs === undefined) last = { readings: undefined, at: clock.now() };
      const now = describeTrouble(error);
      if (now !== trouble) say(name, now);
      trouble = now;
    }
  }

  function begin(): Promise<void> {
    underWay ??= readOnce().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  return {
    begin,
    /** Undefined when it failed, or takes too long. */
    async current(patienceMs: number): Promise<Readings | undefined> {
      if (last !== undefined && clock.now() - last.at < usableMs) return last.readings;
      if (everyMs !== undefined) return undefined;
      return (await isDoneWithin(patienceMs, begin())) ? last?.readings : undefined;
    },
  };
}

async function isDoneWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const enough = new AbortController();
  const tooLate = sleep(ms, false, { signal: enough.signal }).catch(() => false);
  return Promise.race([work.then(() => true), tooLate]).finally(() => enough.abort());
}
