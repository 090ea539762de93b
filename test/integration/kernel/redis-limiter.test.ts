import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createRedisLimiter } from '../../../src/kernel/rate-limit/redis-limiter.ts';
import { readRedisUrl } from '../../../src/kernel/rate-limit/redis-url.ts';
import { listenTcp } from '../../support/listening.ts';
import { startRedis, startSentinel } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

/** For requests that only show whether the count is shared. */
const shared = { limit: 1_000, windowMs: 1_000 };

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

test('Sentinels say where Redis is, also after a failover', { tags: ['redis'] }, async () => {
  const world = await startSentinel();
  const limiter = createRedisLimiter(readRedisUrl(world.url) ?? '', createLogger('silent'));
  const policy = { limit: 3, windowMs: 60_000 };
  const isShared = async () => (await limiter.take('other', shared)) && !limiter.isAlone;
  await until('the first Redis', isShared);
  expect(await limiter.take('bucket', policy)).toMatchObject({ allowed: true, remaining: 2 });
  await world.failover();
  await until('the second Redis', isShared);
  // The replica has the count of the first.
  expect(await limiter.take('bucket', policy)).toMatchObject({ allowed: true, remaining: 1 });
  await limiter.close();
  await world.stop();
});

test('a Redis that stands still is left for the one that the Sentinels promote', { tags: ['redis'] }, async () => {
  const world = await startSentinel();
  const limiter = createRedisLimiter(readRedisUrl(world.url) ?? '', createLogger('silent'));
  const isShared = async () => (await limiter.take('other', shared)) && !limiter.isAlone;
  await until('the first Redis', isShared);
  const promoted = world.standStill();
  await until('the outage', async () => !(await isShared()));
  await promoted;
  await until('the second Redis', isShared);
  await limiter.close();
  await world.stop();
});

test('while Redis stands still, one request at a time waits for it', { tags: ['redis'] }, async () => {
  const redis = await startRedis();
  const asked: number[] = [];
  let isSilent = false;
  const proxy = await listenTcp((near) => {
    const far = connect(Number(new URL(redis.url).port), '127.0.0.1');
    const connection = asked.push(0) - 1;
    near.on('data', (bytes) => {
      const requests = isSilent ? bytes.toString('latin1').split('paywright:limit:').length - 1 : 0;
      asked[connection] = (asked[connection] ?? 0) + requests;
      if (requests === 0) far.write(bytes);
    });
    far.pipe(near);
    near.on('close', () => far.destroy());
  });
  const limiter = createRedisLimiter(`redis://127.0.0.1:${proxy.port}`, createLogger('silent'));
  const isShared = async () => (await limiter.take('bucket', shared)) && !limiter.isAlone;
  await until('Redis', isShared);
  isSilent = true;
  await limiter.take('bucket', shared);
  await until('another connection that is asked', async () => {
    await Promise.all(Array.from({ length: 20 }, async () => limiter.take('bucket', shared)));
    return asked.slice(1).some((times) => times > 0);
  });
  expect(asked[0]).toBe(1);
  expect(Math.max(...asked)).toBe(1);
  isSilent = false;
  await until('Redis again', isShared);
  await limiter.close();
  await proxy.close();
  await redis.stop();
});

test('a Redis that has become a replica is left for the one that its address leads to', {
  tags: ['redis'],
}, async () => {
  const [first, second] = [await startRedis(), await startRedis()];
  const portOf = ({ url }: typeof first) => Number(new URL(url).port);
  let primary = first;
  const address = await listenTcp((near) => {
    const far = connect(portOf(primary), '127.0.0.1');
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
  });
  const limiter = createRedisLimiter(`redis://127.0.0.1:${address.port}`, createLogger('silent'));
  const isShared = async () => (await limiter.take('bucket', shared)) && !limiter.isAlone;
  await until('the first Redis', isShared);
  primary = second;
  const admin = new Redis(first.url);
  await admin.replicaof('127.0.0.1', portOf(second));
  await until('the refusal', async () => !(await isShared()));
  await until('the second Redis', isShared);
  admin.disconnect();
  await limiter.close();
  await address.close();
  await Promise.all([first.stop(), second.stop()]);
});

test('a Sentinel that accepts connections and never answers is left for the next one', {
  tags: ['redis'],
}, async () => {
  const world = await startSentinel();
  const silent = await listenTcp(() => {});
  const url = readRedisUrl(world.url.replace('//', `//127.0.0.1:${silent.port},`)) ?? '';
  const limiter = createRedisLimiter(url, createLogger('silent'));
  await until('Redis', async () => (await limiter.take('bucket', shared)) && !limiter.isAlone);
  await limiter.close();
  await silent.close();
  await world.stop();
});

test('with rediss+sentinel:// a Sentinel hears nothing but TLS', async () => {
  const heard: Buffer[] = [];
  const sentinel = await listenTcp((socket) => void socket.on('data', (bytes) => heard.push(bytes)));
  const url = readRedisUrl(`rediss+sentinel://127.0.0.1:${sentinel.port}/main?sentinel_password=secret`) ?? '';
  const limiter = createRedisLimiter(url, createLogger('silent'));
  await until('the first bytes', async () => heard.length > 0);
  await limiter.close();
  await sentinel.close();
  const tlsHandshake = 0x16;
  expect(heard[0]?.[0]).toBe(tlsHandshake);
  expect(Buffer.concat(heard).includes('secret')).toBe(false);
});
