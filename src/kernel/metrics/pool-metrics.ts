import { defineMetrics, type MetricSource, type Sample } from './metric.ts';

/** What a pool of connections says of itself. */
export interface CountedPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max?: number };
}

/** The connections to PostgreSQL, pool by pool. More pools may be added to the map later. */
export function poolMetrics(pools: ReadonlyMap<string, CountedPool>): MetricSource {
  const each = (count: (pool: CountedPool) => number): Sample[] =>
    Array.from(pools, ([pool, counted]) => ({ labels: { pool }, value: count(counted) }));
  return defineMetrics({
    name: 'pools',
    metrics: {
      paywright_db_connections: { type: 'gauge', help: 'Connections to PostgreSQL that are open, by pool.' },
      paywright_db_connections_idle: { type: 'gauge', help: 'Those of them that nobody uses.' },
      paywright_db_connections_most: { type: 'gauge', help: 'How many connections the pool may have.' },
      paywright_db_connections_awaited: { type: 'gauge', help: 'How many wait for a connection of the pool.' },
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
