import { defineMetrics, gauge, type MetricSource } from '../metrics/metric.ts';
import type { RateLimiter } from './limiter.ts';

export function limiterMetrics(limiter: RateLimiter): MetricSource {
  return defineMetrics({
    name: 'rate-limiter',
    metrics: {
      paywright_rate_limiter_alone: gauge('1 while Redis is unreachable and this process counts requests on its own.'),
    },
    maxAgeMs: 0,
    read: () => ({ paywright_rate_limiter_alone: limiter.isAlone === true ? 1 : 0 }),
  });
}
