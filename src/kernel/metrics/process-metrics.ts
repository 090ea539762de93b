import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { defineMetrics, gauge, type MetricSource, type Sample } from './metric.ts';

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
      paywright_db_connections: gauge('Connections to PostgreSQL that are open, by pool.'),
      paywright_db_connections_idle: gauge('Open connections that are idle, by pool.'),
      paywright_db_connections_most: gauge('The maximum size of the pool.'),
      paywright_db_connections_awaited: gauge('Callers that wait for a connection, by pool.'),
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

const resolutionMs = 10;

export function processMetrics(): MetricSource & { stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  let before = performance.eventLoopUtilization();
  /** Each measurement includes the timer's own interval, which is subtracted. */
  const lag = (ns: number) => Math.max(0, ns / 1e9 - resolutionMs / 1000);

  const source = defineMetrics({
    name: 'process',
    metrics: {
      process_cpu_seconds_total: { type: 'counter', help: 'CPU time that this process has used.' },
      process_resident_memory_bytes: gauge('Resident memory of this process.'),
      process_start_time_seconds: gauge('Start time of this process, in seconds since the epoch.'),
      nodejs_heap_used_bytes: gauge('JavaScript heap in use.'),
      nodejs_eventloop_lag_p99_seconds: gauge('99th percentile of event loop delay since the last reading.'),
      nodejs_eventloop_lag_max_seconds: gauge('Longest event loop delay since the last reading.'),
      nodejs_eventloop_utilization: gauge('Share of time in which the event loop was busy since the last reading.'),
    },
    read() {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed } = process.memoryUsage();
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      const readings = {
        process_cpu_seconds_total: (user + system) / 1e6,
        process_resident_memory_bytes: rss,
        process_start_time_seconds: startedAt,
        nodejs_heap_used_bytes: heapUsed,
        nodejs_eventloop_lag_p99_seconds: lag(delay.percentile(99)),
        nodejs_eventloop_lag_max_seconds: lag(delay.max),
        nodejs_eventloop_utilization: utilization,
      };
      delay.reset();
      return readings;
    },
  });
  return { ...source, stop: () => void delay.disable() };
}
