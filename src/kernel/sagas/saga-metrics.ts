import type { Queryable } from '../db/database.ts';
import { defineMetrics, type MetricSource, mostCounted } from '../metrics/metric.ts';
import type { Saga } from './define-saga.ts';
import { isStuckSql, stuckBounds } from './list-sagas.ts';

/** Counts the open rows of each saga, by its partial index on them. */
export function sagaMetrics(db: Queryable, sagas: readonly Saga[]): MetricSource {
  return defineMetrics({
    name: 'sagas',
    metrics: {
      paywright_sagas_open: { type: 'gauge', help: 'Open sagas.' },
      paywright_sagas_stuck: { type: 'gauge', help: 'Open sagas that have exceeded their time bound.' },
      paywright_sagas_oldest_seconds: { type: 'gauge', help: 'The age of the oldest open saga.' },
    },
    maxAgeMs: 10_000,
    async read() {
      const rows: (SagaRow & { readonly saga: string })[] = [];
      for (const saga of sagas) {
        const found = await db.query<SagaRow>(
          `SELECT count(*)::int AS open, count(*) FILTER (WHERE stuck)::int AS stuck,
                  coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest
             FROM (SELECT created_at, ${isStuckSql({ bounds: '$1', within: '$2', laterMs: '0' })} AS stuck
                     FROM ${saga.table} WHERE finished_at IS NULL LIMIT $3) s`,
          [stuckBounds(saga), saga.withinMs ?? null, mostCounted],
        );
        for (const row of found.rows) rows.push({ saga: saga.name, ...row });
      }
      const each = (count: (row: SagaRow) => number) =>
        rows.map((row) => ({ labels: { saga: row.saga }, value: count(row) }));
      return {
        paywright_sagas_open: each(({ open }) => open),
        paywright_sagas_stuck: each(({ stuck }) => stuck),
        paywright_sagas_oldest_seconds: each(({ oldest }) => oldest),
      };
    },
  });
}

interface SagaRow {
  readonly open: number;
  readonly stuck: number;
  readonly oldest: number;
}
