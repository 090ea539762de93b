import { expect, test } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createRedisLimiter } from '../../../src/kernel/rate-limit/redis-limiter.ts';
import { startRedis } from '../../support/redis.ts';

test('looking takes no place in Redis', { tags: ['redis'] }, async () => {
  const redis = await startRedis();
  const limiter = createRedisLimiter(redis.url, createLogger('silent'));
  const policy = { limit: 1, windowMs: 60_000 };
  // Until it is connected, it would count by itself.
  await expect
    .poll(async () => (await limiter.take('other', policy)) && limiter.isAlone, { timeout: 10_000 })
    .toBe(false);
  const looks = await Promise.all(Array.from({ length: 50 }, async () => limiter.peek('bucket', policy)));
  expect(looks).toEqual(looks.map(() => ({ allowed: true, remaining: 1, resetMs: 0 })));
  expect(await limiter.take('bucket', policy)).toMatchObject({ allowed: true, remaining: 0 });
  const full = await limiter.peek('bucket', policy);
  expect(full).toMatchObject({ allowed: false, remaining: 0 });
  expect(full.resetMs).toBeGreaterThan(50_000);
  await limiter.close();
  await redis.stop();
});
