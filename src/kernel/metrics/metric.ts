/** What is told under one name. */
export interface MetricKind {
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** One sentence: what the number is. */
  readonly help: string;
}

/** One number. Labels have few values, which the code or the operator's settings name: never anybody's id, address or key. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Only of a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

/** What was read, by the name of the metric: a number, or one for each set of labels. */
export type Readings = Readonly<Record<string, number | readonly Sample[]>>;

/** Where some metrics are read together, such as a table. When it fails, only they are missing. */
export interface MetricSource {
  readonly name: string;
  readonly metrics: Readonly<Record<string, MetricKind>>;
  /** How old what was read may be: however often somebody asks, it is not read more often. */
  readonly maxAgeMs?: number;
  /** It takes long: it is read by itself, so often, and whoever asks is told what was read last. */
  readonly everyMs?: number;
  read(): Readings | Promise<Readings>;
}

/** Declares a source; what it reads are the metrics that it declares. */
export function defineMetrics<const Names extends Readonly<Record<string, MetricKind>>>(
  source: Omit<MetricSource, 'metrics' | 'read'> & {
    readonly metrics: Names;
    read(): MetricReadings<Names> | Promise<MetricReadings<Names>>;
  },
): MetricSource {
  return source;
}

type MetricReadings<Names> = { readonly [Name in keyof Names & string]: number | readonly Sample[] };

/** Counting stops here: a queue this long is an alarm however much longer it is, and counting it must stay cheap. */
export const mostCounted = 100_000;
