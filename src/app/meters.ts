import { metrics } from '../kernel/metrics/feature.ts';
import type { MetricSource } from '../kernel/metrics/metric.ts';
import type { CountedPool } from '../kernel/metrics/pool-metrics.ts';
import { createRequestMeter, type RequestMeter } from '../kernel/metrics/request-metrics.ts';
import { type BatchMeter, createBatchMeter } from '../ledger/batch-metrics.ts';
import type { Config } from './config.ts';
import { settingsOf } from './listed-feature.ts';

/** What a process measures of itself. Parts that open later add theirs. */
export interface Meters {
  readonly requests: RequestMeter;
  readonly batches: BatchMeter;
  readonly pools: Map<string, CountedPool>;
  readonly more: MetricSource[];
  /** The ports of /metrics, which outgoing requests must not reach. */
  readonly ports: number[];
}

/** Undefined when metrics are off; then nothing is measured. */
export function openMeters(config: Config): Meters | undefined {
  if (settingsOf(config, metrics) === undefined) return undefined;
  return { requests: createRequestMeter(), batches: createBatchMeter(), pools: new Map(), more: [], ports: [] };
}
