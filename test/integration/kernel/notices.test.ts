import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../../src/app/read-settings.ts';
import { addCircleNotifications } from '../../../src/custody/adapters/circle/notifications.ts';
import { monotonicClock } from '../../../src/kernel/clock.ts';
import { createServer } from '../../../src/kernel/http/server.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import type { RateLimiter } from '../../../src/kernel/rate-limit/limiter.ts';
import { createMemoryLimiter } from '../../../src/kernel/rate-limit/memory-limiter.ts';
import { createRedisLimiter } from '../../../src/kernel/rate-limit/redis-limiter.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../support/database.ts';
import { startRedis } from '../../support/redis.ts';

const { db } = useDatabase();
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const realKey = randomUUID();

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

/** A server that has not yet seen the key of Circle. */
function serve(limiter: RateLimiter) {
  const app = createServer({
    config: readSettings({ TRUSTED_PROXIES: '127.0.0.1' }),
    publicUrl: () => 'http://127.0.0.1',
    routes: [],
    authenticate: () => undefined,
    limiter,
    secrets: createSecrets('s'.repeat(32)),
    logger: createLogger('silent'),
    pages: (pages) =>
      addCircleNotifications(pages, {
        db,
        provider: { notificationKey: async (id) => (id === realKey ? publicKey : undefined) },
        async onTransaction() {},
      }),
  });
  closing.push(() => app.close());
  return async ({ keyId = realKey, ip = '198.51.100.1' } = {}) => {
    const content = { notificationId: randomUUID(), notificationType: 'webhooks.test', notification: {} };
    const payload = Buffer.from(JSON.stringify(content));
    const headers = {
      'content-type': 'application/json',
      'x-forwarded-for': ip,
      'x-circle-key-id': keyId,
      'x-circle-signature': sign('sha256', payload, privateKey).toString('base64'),
    };
    return (await app.inject({ method: 'POST', url: '/api/circle/notifications', payload, headers })).statusCode;
  };
}

test('invented keys of a stranger do not keep the real one from being fetched', async () => {
  const send = serve(createMemoryLimiter(monotonicClock));
  const strange: number[] = [];
  for (let time = 0; time < 8; time++) strange.push(await send({ keyId: randomUUID(), ip: '203.0.113.5' }));
  expect(strange).toEqual([401, 401, 401, 401, 401, 401, 503, 503]);
  // In IPv6 the whole /48 is one stranger.
  const wide: number[] = [];
  for (let net = 0; net < 8; net++) wide.push(await send({ keyId: randomUUID(), ip: `2001:db8:1:${net}::1` }));
  expect(wide).toEqual([401, 401, 401, 401, 401, 401, 503, 503]);
  expect(await send()).toBe(200);
});

describe('in Redis', { tags: ['redis'] }, () => {
  test('a burst of honest notices passes, and only bad ones use up their room', async () => {
    const redis = await startRedis();
    const limiter = createRedisLimiter(redis.url, createLogger('silent'));
    closing.push(
      () => limiter.close(),
      () => redis.stop(),
    );
    await expect
      .poll(
        async () => {
          await limiter.peek('none', { limit: 1, windowMs: 1_000 });
          return limiter.isAlone;
        },
        { timeout: 10_000, interval: 200 },
      )
      .toBe(false);
    const send = serve(limiter);
    const burst = await Promise.all(Array.from({ length: 200 }, () => send()));
    expect(burst.filter((status) => status !== 200)).toEqual([]);

    const policy = { limit: 2, windowMs: 60_000 };
    expect(await limiter.peek('bucket', policy)).toEqual({ allowed: true, remaining: 2, resetMs: 0 });
    await limiter.take('bucket', policy);
    expect(await limiter.peek('bucket', policy)).toMatchObject({ allowed: true, remaining: 1 });
    await limiter.take('bucket', policy);
    const full = await limiter.peek('bucket', policy);
    expect(full).toMatchObject({ allowed: false, remaining: 0 });
    expect(full.resetMs).toBeGreaterThan(50_000);
    expect(full.resetMs).toBeLessThanOrEqual(60_000);
  });
});
