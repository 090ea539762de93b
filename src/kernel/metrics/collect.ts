import { type Clock, within } from '../clock.ts';
import { describeError } from '../jobs/error-reporter.ts';
import type { Logger } from '../log/logger.ts';
import { refuseDuplicates } from '../refusal.ts';
import { gauge, type MetricKind, type MetricSource, type Readings, type Sample } from './metric.ts';

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus's text format. A metric without samples has no lines. */
function renderMetrics(metrics: Readonly<Record<string, MetricKind>>, readings: Readings): string {
  return Object.entries(metrics)
    .map(([name, kind]) => {
      const read = readings[name] ?? [];
      const samples = typeof read === 'number' ? [{ value: read }] : read;
      if (samples.length === 0) return '';
      const head = `# HELP ${name} ${escapeHelp(kind.help)}\n# TYPE ${name} ${kind.type}\n`;
      return head + samples.map((sample) => renderSample(name, sample)).join('');
    })
    .join('');
}

function renderSample(name: string, { value, labels = {}, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix ?? ''}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${renderNumber(value)}\n`;
}

function renderNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

export interface CollectorOptions {
  readonly sources: readonly MetricSource[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a scrape waits for one source. */
  readonly patienceMs?: number;
}

export interface Collector {
  /** Returns all metrics in Prometheus's text format. Never fails: an unreadable source is left out and reported as down. */
  scrape(): Promise<string>;
  stop(): void;
}

const usualMaxAgeMs = 5_000;

/** A periodic reading may be this many intervals old before it counts as missing. */
const mayMiss = 3;

const up = {
  paywright_metrics_source_up: gauge(
    'Whether the metrics of this source could be read; 0 means that they are missing here.',
  ),
};

export function createCollector({ sources, clock, logger, patienceMs = 2_000 }: CollectorOptions): Collector {
  const names = sources.flatMap(({ metrics }) => Object.keys(metrics));
  refuseDuplicates('metric', names);
  let stopped = false;
  const say = (source: string, trouble: string) => {
    // During shutdown sources are expected to fail.
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

/** Reads a source once at a time, however many scrapes ask, and caches the readings or the failure. */
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
      const now = describeError(error);
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
    /** Undefined when the read failed or takes too long. */
    async current(patienceMs: number): Promise<Readings | undefined> {
      if (last !== undefined && clock.now() - last.at < usableMs) return last.readings;
      if (everyMs !== undefined) return undefined;
      return within(
        patienceMs,
        begin().then(() => last?.readings),
        () => undefined,
      );
    },
  };
}
