import { Redis } from 'ioredis';
import { monotonicClock } from '../clock.ts';
import { randomBase62 } from '../ids.ts';
import type { Logger } from '../logger.ts';
import type { RateLimitDecision, RateLimiter, RateLimitPolicy, RateLimitRoom } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';

/**
 * One sorted set per bucket, scored by the time of Redis itself in microseconds, so that instances with clocks of their
 * own agree. Checking and counting are one script, so no two requests can take the same last place.
 */
const takeScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local window = ARGV[2] * 1000
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  local size = redis.call('ZCARD', KEYS[1])
  local allowed = 0
  if size < tonumber(ARGV[1]) then
    redis.call('ZADD', KEYS[1], now, ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    allowed = 1
    size = size + 1
  end
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { allowed, size, math.ceil((oldest[2] + window - now) / 1000) }
`;

const peekScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local window = ARGV[1] * 1000
  local after = '(' .. string.format('%.0f', now - window)
  local size = redis.call('ZCOUNT', KEYS[1], after, '+inf')
  if size == 0 then return { 0, 0 } end
  local oldest = redis.call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return { size, math.ceil((oldest[2] + window - now) / 1000) }
`;

/** A Redis that hangs costs the first request its time-out, and not every one after it. */
const pauseMs = 1_000;

const options = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Longer than this process itself is ever busy with something else: limits are not loosened because we were.
  commandTimeout: 2_000,
  connectTimeout: 2_000,
  retryStrategy: (attempt: number) => Math.min(attempt * 200, 2_000),
};

interface ScriptedRedis extends Redis {
  takePlace(bucket: string, limit: number, windowMs: number, member: string): Promise<[number, number, number]>;
  peekPlaces(bucket: string, windowMs: number): Promise<[number, number]>;
}

/** Shared by every instance. While Redis is away each instance limits in process, and says so once per outage. */
export function createRedisLimiter(url: string, logger: Logger): RateLimiter {
  const redis = new Redis(url, options) as ScriptedRedis;
  redis.defineCommand('takePlace', { numberOfKeys: 1, lua: takeScript });
  redis.defineCommand('peekPlaces', { numberOfKeys: 1, lua: peekScript });
  const standIn = createMemoryLimiter(monotonicClock);
  let away = false;
  let askAgainAt = 0;

  redis.on('error', (error) => noteAway(error));
  // A first connection that fails is reported through 'error' and tried again like any other.
  redis.connect().catch(() => {});

  function noteAway(error: unknown): void {
    if (!away) logger.warn({ err: error }, 'Redis is away: each instance limits in process until it is back');
    away = true;
    askAgainAt = performance.now() + pauseMs;
  }

  function noteAnswer(): void {
    if (away) logger.info('Redis is back: rate limits are shared again');
    away = false;
  }

  /** While Redis is away, and whenever it does not answer, this process counts by itself. */
  async function ask<T>(question: () => Promise<T>, alone: () => T | Promise<T>): Promise<T> {
    if (away && performance.now() < askAgainAt) return alone();
    try {
      const answer = await question();
      noteAnswer();
      return answer;
    } catch (error) {
      noteAway(error);
      return alone();
    }
  }

  const keyOf = (bucket: string) => `paywright:limit:${bucket}`;

  return {
    take: (bucket: string, policy: RateLimitPolicy): Promise<RateLimitDecision> =>
      ask(
        async () => {
          const key = keyOf(bucket);
          const member = randomBase62(12);
          const [allowed, size, resetMs] = await redis.takePlace(key, policy.limit, policy.windowMs, member);
          return {
            allowed: allowed === 1,
            remaining: Math.max(0, policy.limit - size),
            resetMs,
            giveBack: async () => {
              await redis.zrem(key, member).catch(() => {});
            },
          };
        },
        () => standIn.take(bucket, policy),
      ),
    peek: (bucket: string, policy: RateLimitPolicy): Promise<RateLimitRoom> =>
      ask(
        async () => {
          const [size, resetMs] = await redis.peekPlaces(keyOf(bucket), policy.windowMs);
          return { allowed: size < policy.limit, remaining: Math.max(0, policy.limit - size), resetMs };
        },
        () => standIn.peek(bucket, policy),
      ),
    get isAlone() {
      return away;
    },
    async close() {
      redis.disconnect();
      await standIn.close();
    },
  };
}
