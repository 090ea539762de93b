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

export interface MetricKind {
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** One sentence that says what the number means. */
  readonly help: string;
}

export const gauge = (help: string) => ({ type: 'gauge', help }) as const satisfies MetricKind;

/** Labels have few values, which the code or the operator's settings define: never an id, an address or a key. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Only for histograms. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

/** Readings by metric name: a number, or one sample per set of labels. */
export type Readings = Readonly<Record<string, number | readonly Sample[]>>;

/** Metrics that are read together, such as from one table. If reading fails, only these are missing. */
export interface MetricSource {
  readonly name: string;
  readonly metrics: Readonly<Record<string, MetricKind>>;
  /** How long a reading is cached. */
  readonly maxAgeMs?: number;
  /** For slow sources: read at this interval in the background, and scrapes return the last reading. */
  readonly everyMs?: number;
  read(): Readings | Promise<Readings>;
}

export function defineMetrics<const Names extends Readonly<Record<string, MetricKind>>>(
  source: Omit<MetricSource, 'metrics' | 'read'> & {
    readonly metrics: Names;
    read(): MetricReadings<Names> | Promise<MetricReadings<Names>>;
  },
): MetricSource {
  return source;
}

type MetricReadings<Names> = { readonly [Name in keyof Names & string]: number | readonly Sample[] };

/** Counting stops here: any longer queue is an alarm anyway, and counting must stay cheap. */
export const mostCounted = 100_000;
