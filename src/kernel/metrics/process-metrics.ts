import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { defineMetrics, type MetricSource } from './metric.ts';

const resolutionMs = 10;

/** What every process has: time, memory, and whether its event loop keeps up. */
export function processMetrics(): MetricSource & { stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  let before = performance.eventLoopUtilization();
  /** It measures how far apart its own looks are, so of each the time that it meant to wait is taken off. */
  const lag = (ns: number) => Math.max(0, ns / 1e9 - resolutionMs / 1000);

  const source = defineMetrics({
    name: 'process',
    metrics: {
      process_cpu_seconds_total: { type: 'counter', help: 'Processor time that this process has used.' },
      process_resident_memory_bytes: { type: 'gauge', help: 'Memory that this process has from the system.' },
      process_start_time_seconds: { type: 'gauge', help: 'When this process began, in seconds since 1970.' },
      nodejs_heap_used_bytes: { type: 'gauge', help: 'What of the JavaScript heap is in use.' },
      nodejs_eventloop_lag_p99_seconds: {
        type: 'gauge',
        help: 'How late the event loop was in 99 of 100 cases at most, since the last reading.',
      },
      nodejs_eventloop_lag_max_seconds: {
        type: 'gauge',
        help: 'How late the event loop was at most, since the last reading.',
      },
      nodejs_eventloop_utilization: {
        type: 'gauge',
        help: 'The share of time in which the event loop was busy, since the last reading.',
      },
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
