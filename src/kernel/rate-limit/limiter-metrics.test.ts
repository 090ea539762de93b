import { afterAll, expect, test } from 'vitest';
import { monotonicClock } from '../clock.ts';
import { createLogger } from '../log/logger.ts';
import { limiterMetrics } from './limiter-metrics.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { createRedisLimiter } from './redis-limiter.ts';

const nowhere = createRedisLimiter('redis://127.0.0.1:1', createLogger('silent'));
const ownMemory = createMemoryLimiter(monotonicClock);
afterAll(async () => {
  await nowhere.close();
  await ownMemory.close();
});

test('a process that counts by itself because Redis is away says so', async () => {
  await nowhere.take('bucket', { limit: 1, windowMs: 1_000 });
  expect(await limiterMetrics(nowhere).read()).toEqual({ paywright_rate_limiter_alone: 1 });
  expect(await limiterMetrics(ownMemory).read()).toEqual({ paywright_rate_limiter_alone: 0 });
});
