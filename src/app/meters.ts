import type { Config } from '../config.ts';
import { type BatchMeter, createBatchMeter } from '../ledger/batch-metrics.ts';
import { metrics } from '../metrics/feature.ts';
import type { MetricSource } from '../metrics/metric.ts';
import type { CountedPool } from '../metrics/pool-metrics.ts';
import { createRequestMeter, type RequestMeter } from '../metrics/request-metrics.ts';
import { settingsOf } from './listed-feature.ts';

/** What a process measures of itself. Those who are opened later add what they have. */
export interface Meters {
  readonly requests: RequestMeter;
  readonly batches: BatchMeter;
  readonly pools: Map<string, CountedPool>;
  readonly more: MetricSource[];
  /** Where it is told: no user's request may go there. */
  readonly ports: number[];
}

/** Undefined where nobody wants to know: then nothing is measured either. */
export function openMeters(config: Config): Meters | undefined {
  if (settingsOf(config, metrics) === undefined) return undefined;
  return { requests: createRequestMeter(), batches: createBatchMeter(), pools: new Map(), more: [], ports: [] };
}
