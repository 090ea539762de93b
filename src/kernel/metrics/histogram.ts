import type { Sample } from './metric.ts';

export interface Histogram {
  observe(value: number): void;
  samples(labels?: Readonly<Record<string, string>>): Sample[];
}

/** `buckets` are ascending upper bounds. */
export function createHistogram({ buckets }: { readonly buckets: readonly number[] }): Histogram {
  /** One count per bucket, and one for values above all of them. */
  const counts = new Float64Array(buckets.length + 1);
  let sum = 0;

  return {
    observe(value) {
      let place = 0;
      while (place < buckets.length && value > (buckets[place] as number)) place++;
      counts[place] = (counts[place] ?? 0) + 1;
      sum += value;
    },
    samples(labels = {}) {
      let reached = 0;
      const filled = Array.from(counts, (count, place): Sample => {
        reached += count;
        return { suffix: '_bucket', labels: { ...labels, le: String(buckets[place] ?? '+Inf') }, value: reached };
      });
      return [...filled, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: reached }];
    },
  };
}
