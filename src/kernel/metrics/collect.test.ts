import { afterEach, expect, test, vi } from 'vitest';
import type { Logger } from '../log/logger.ts';
import { createCollector } from './collect.ts';
import { createHistogram, defineMetrics, type MetricSource } from './metric.ts';
import { createRequestMeter } from './request-metrics.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
  vi.useRealTimers();
});

function collector(sources: readonly MetricSource[]) {
  const time = { now: 0 };
  const warned: object[] = [];
  const logger = { warn: (fields: object) => void warned.push(fields) } as unknown as Logger;
  const made = createCollector({ sources, clock: { now: () => time.now }, logger, patienceMs: 20 });
  closers.push(() => made.stop());
  return { ...made, time, warned };
}

const gauge = (name: string, read: () => number | Promise<number>, more: Partial<MetricSource> = {}): MetricSource => ({
  ...defineMetrics({
    name,
    metrics: { [name]: { type: 'gauge', help: `All of ${name}.` } },
    read: async () => ({ [name]: await read() }),
  }),
  ...more,
});

test('everything is told in the form of Prometheus', async () => {
  const sizes = createHistogram({ buckets: [1, 5] });
  for (const size of [1, 2, 7]) sizes.observe(size);
  const { scrape } = collector([
    defineMetrics({
      name: 'test',
      metrics: {
        plain: { type: 'counter', help: 'A \\ in\ntwo lines.' },
        labelled: { type: 'gauge', help: 'With labels.' },
        sizes: { type: 'histogram', help: 'How large.' },
        empty: { type: 'gauge', help: 'Nothing to tell.' },
      },
      read: () => ({
        plain: 3,
        labelled: [{ labels: { one: 'a "b" \\ \n', two: 'c' }, value: Number.POSITIVE_INFINITY }],
        sizes: sizes.samples({ route: '/a' }),
        empty: [],
      }),
    }),
  ]);
  expect(await scrape()).toBe(
    [
      '# HELP plain A \\\\ in\\ntwo lines.',
      '# TYPE plain counter',
      'plain 3',
      '# HELP labelled With labels.',
      '# TYPE labelled gauge',
      'labelled{one="a \\"b\\" \\\\ \\n",two="c"} +Inf',
      '# HELP sizes How large.',
      '# TYPE sizes histogram',
      'sizes_bucket{route="/a",le="1"} 1',
      'sizes_bucket{route="/a",le="5"} 2',
      'sizes_bucket{route="/a",le="+Inf"} 3',
      'sizes_sum{route="/a"} 10',
      'sizes_count{route="/a"} 3',
      '# HELP paywright_metrics_source_up Whether the metrics of this source could be read; 0 means that they are missing here.',
      '# TYPE paywright_metrics_source_up gauge',
      'paywright_metrics_source_up{source="test"} 1',
      '',
    ].join('\n'),
  );
});

test('a source that fails or takes too long is named, and the others are told', async () => {
  const broken = gauge('broken', () => Promise.reject(new Error('no such table')));
  const slow = gauge('slow', () => new Promise<number>(() => {}));
  const { scrape, warned } = collector([broken, slow, gauge('sound', () => 1)]);
  for (let time = 0; time < 2; time++) {
    const text = await scrape();
    expect(text).toContain('sound 1\n');
    expect(text).not.toMatch(/^(broken|slow) /m);
    for (const name of ['broken', 'slow']) expect(text).toContain(`paywright_metrics_source_up{source="${name}"} 0\n`);
  }
  expect(warned).toEqual([{ source: 'broken', trouble: 'Error: no such table' }]);
});

test('however many ask, a source is read once, and again when what it said is old', async () => {
  const reads = vi.fn(() => reads.mock.calls.length);
  const { scrape, time } = collector([gauge('counted', reads, { maxAgeMs: 100 })]);
  await Promise.all([scrape(), scrape(), scrape()]);
  expect(await scrape()).toContain('counted 1\n');
  time.now = 100;
  expect(await scrape()).toContain('counted 2\n');
});

test('a source that takes long is read by itself, and never because somebody asks', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const reads = vi.fn(() =>
    reads.mock.calls.length === 2 ? Promise.reject(new Error('away')) : reads.mock.calls.length,
  );
  const { scrape, time } = collector([gauge('slow', reads, { everyMs: 1_000 })]);
  await expect.poll(() => scrape()).toContain('slow 1\n');
  time.now = 1_000;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reads).toHaveBeenCalledTimes(2);
  // It failed once: what it said before is told until it is too old.
  expect(await scrape()).toContain('slow 1\n');
  time.now = 3_000;
  expect(await scrape()).toContain('paywright_metrics_source_up{source="slow"} 0\n');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await scrape()).toContain('slow 3\n');
});

test('two sources cannot tell the same metric', () => {
  expect(() => collector([gauge('same', () => 1), gauge('same', () => 2)])).toThrow(
    'the metric same is declared twice',
  );
});

test('routes and methods that nobody expected do not grow without bound', async () => {
  const { source, count } = createRequestMeter();
  const request = { status: 200, seconds: 0.01 };
  for (let number = 0; number < 3_000; number++) count({ route: `/${number}`, method: 'GET', ...request });
  for (let number = 0; number < 10; number++) count({ route: '/0', method: `METHOD${number}`, ...request });
  const lines = (await collector([source]).scrape()).split('\n').filter((line) => line.includes('_requests_total{'));
  expect(lines).toHaveLength(1_002);
  expect(lines.at(-2)).toBe('paywright_http_requests_total{route="other",method="GET",status="2xx"} 2000');
  expect(lines.at(-1)).toBe('paywright_http_requests_total{route="other",method="other",status="2xx"} 10');
});
