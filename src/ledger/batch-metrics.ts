import { createHistogram } from '../kernel/metrics/histogram.ts';
import { defineMetrics, type MetricSource } from '../kernel/metrics/metric.ts';
import type { BatchReport } from './batcher.ts';

export interface BatchMeter {
  readonly source: MetricSource;
  count(batch: BatchReport): void;
}

export function createBatchMeter(): BatchMeter {
  const sizes = createHistogram({ buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500] });
  const times = createHistogram({ buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5] });
  let failed = 0;
  let waiting = 0;
  return {
    count(batch) {
      sizes.observe(batch.postings);
      times.observe(batch.ms / 1000);
      if (batch.outcome === 'failed') failed++;
      waiting = batch.waiting;
    },
    source: defineMetrics({
      name: 'batches',
      metrics: {
        paywright_ledger_batch_postings: { type: 'histogram', help: 'Postings per batch.' },
        paywright_ledger_batch_seconds: { type: 'histogram', help: 'Duration of a batch, including the commit.' },
        paywright_ledger_batches_failed_total: {
          type: 'counter',
          help: 'Batches that the database rejected or did not answer. Their postings may be retried.',
        },
        paywright_ledger_postings_waiting: {
          type: 'gauge',
          help: 'Postings waiting when the last batch was answered.',
        },
      },
      maxAgeMs: 0,
      read: () => ({
        paywright_ledger_batch_postings: sizes.samples(),
        paywright_ledger_batch_seconds: times.samples(),
        paywright_ledger_batches_failed_total: failed,
        paywright_ledger_postings_waiting: waiting,
      }),
    }),
  };
}
