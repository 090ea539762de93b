import { defineMetrics, type MetricSource } from '../metrics/metric.ts';
import type { RateLimiter } from './limiter.ts';

/** Whether the limits are shared, as they are meant to be where there is a Redis. */
export function limiterMetrics(limiter: RateLimiter): MetricSource {
  return defineMetrics({
    name: 'rate-limiter',
    metrics: {
      paywright_rate_limiter_alone: {
        type: 'gauge',
        help: '1 while Redis is away and this process counts requests by itself.',
      },
    },
    maxAgeMs: 0,
    read: () => ({ paywright_rate_limiter_alone: limiter.isAlone === true ? 1 : 0 }),
  });
}
