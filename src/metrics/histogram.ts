import type { Sample } from './metric.ts';

export interface Histogram {
  /** The labels' values, in the order of their names. */
  observe(value: number, ...labels: readonly string[]): void;
  samples(): Sample[];
}

export interface HistogramOptions {
  readonly labels?: readonly string[];
  /** The upper ends of the buckets, rising. */
  readonly buckets: readonly number[];
}

/** More sets of labels than any of ours can have; whatever comes beyond is told as `other`. */
const mostSeries = 2_000;

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** How many fell into each bucket, and at the end those above all of them. */
  readonly counts: Float64Array;
  sum: number;
}

/** Counts how many numbers are how large. Observing one costs a look into a map and a few comparisons. */
export function createHistogram({ labels: names = [], buckets }: HistogramOptions): Histogram {
  const all = new Map<string, Series>();

  function seriesOf(values: readonly string[]): Series {
    const key = values.join('\n');
    const known = all.get(key);
    if (known !== undefined) return known;
    const isRoom = all.size < mostSeries || values.every((value) => value === 'other');
    if (!isRoom) return seriesOf(names.map(() => 'other'));
    const labels = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
    const fresh = { labels, counts: new Float64Array(buckets.length + 1), sum: 0 };
    all.set(key, fresh);
    return fresh;
  }

  return {
    observe(value, ...values) {
      const series = seriesOf(values);
      let place = 0;
      while (place < buckets.length && value > (buckets[place] as number)) place++;
      series.counts[place] = (series.counts[place] ?? 0) + 1;
      series.sum += value;
    },
    samples: () => [...all.values()].flatMap((series) => samplesOf(series, buckets)),
  };
}

function samplesOf({ labels, counts, sum }: Series, buckets: readonly number[]): Sample[] {
  let reached = 0;
  const filled = Array.from(counts, (count, place): Sample => {
    reached += count;
    const end = buckets[place];
    return { suffix: '_bucket', labels: { ...labels, le: end === undefined ? '+Inf' : String(end) }, value: reached };
  });
  return [...filled, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: reached }];
}
