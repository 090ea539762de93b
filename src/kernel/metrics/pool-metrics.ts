import { defineMetrics, type MetricSource, type Sample } from './metric.ts';

export interface CountedPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max?: number };
}

/** Metrics of all connection pools. Pools may be added to the map later. */
export function poolMetrics(pools: ReadonlyMap<string, CountedPool>): MetricSource {
  const each = (count: (pool: CountedPool) => number): Sample[] =>
    Array.from(pools, ([pool, counted]) => ({ labels: { pool }, value: count(counted) }));
  return defineMetrics({
    name: 'pools',
    metrics: {
      paywright_db_connections: { type: 'gauge', help: 'Connections to PostgreSQL that are open, by pool.' },
      paywright_db_connections_idle: { type: 'gauge', help: 'Open connections that are idle, by pool.' },
      paywright_db_connections_most: { type: 'gauge', help: 'The maximum size of the pool.' },
      paywright_db_connections_awaited: { type: 'gauge', help: 'Callers that wait for a connection, by pool.' },
    },
    maxAgeMs: 0,
    read: () => ({
      paywright_db_connections: each(({ totalCount }) => totalCount),
      paywright_db_connections_idle: each(({ idleCount }) => idleCount),
      paywright_db_connections_most: each(({ options }) => options.max ?? 0),
      paywright_db_connections_awaited: each(({ waitingCount }) => waitingCount),
    }),
  });
}
