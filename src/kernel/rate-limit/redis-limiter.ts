import { Redis } from 'ioredis';
import { monotonicClock } from '../clock.ts';
import { randomBase62 } from '../ids/ids.ts';
import type { Logger } from '../log/logger.ts';
import type { RateLimitDecision, RateLimiter, RateLimitOutlook, RateLimitPolicy } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';

/**
 * One sorted set per bucket, scored by the time of Redis itself in microseconds, so that instances with clocks of their
 * own agree. Checking and counting are one script, so no two requests can take the same last place.
 * Without a name for the place it only looks.
 */
const takeScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local window = ARGV[2] * 1000
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  local size = redis.call('ZCARD', KEYS[1])
  local allowed = 0
  if size < tonumber(ARGV[1]) then
    allowed = 1
    if ARGV[3] ~= '' then
      redis.call('ZADD', KEYS[1], now, ARGV[3])
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      size = size + 1
    end
  end
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  if not oldest[2] then return { allowed, size, 0 } end
  return { allowed, size, math.ceil((oldest[2] + window - now) / 1000) }
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
}

/** Shared by every instance. While Redis is away each instance limits in process, and says so once per outage. */
export function createRedisLimiter(url: string, logger: Logger): RateLimiter {
  const redis = new Redis(url, options) as ScriptedRedis;
  redis.defineCommand('takePlace', { numberOfKeys: 1, lua: takeScript });
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

  const keyOf = (bucket: string) => `paywright:limit:${bucket}`;

  /** Undefined while Redis is away. */
  async function ask(bucket: string, policy: RateLimitPolicy, member: string): Promise<RateLimitOutlook | undefined> {
    if (away && performance.now() < askAgainAt) return undefined;
    try {
      const [allowed, size, resetMs] = await redis.takePlace(keyOf(bucket), policy.limit, policy.windowMs, member);
      noteAnswer();
      return { allowed: allowed === 1, remaining: Math.max(0, policy.limit - size), resetMs };
    } catch (error) {
      noteAway(error);
      return undefined;
    }
  }

  return {
    async take(bucket: string, policy: RateLimitPolicy): Promise<RateLimitDecision> {
      const member = randomBase62(12);
      const outlook = await ask(bucket, policy, member);
      if (outlook === undefined) return standIn.take(bucket, policy);
      return {
        ...outlook,
        giveBack: async () => {
          await redis.zrem(keyOf(bucket), member).catch(() => {});
        },
      };
    },
    async peek(bucket: string, policy: RateLimitPolicy): Promise<RateLimitOutlook> {
      return (await ask(bucket, policy, '')) ?? standIn.peek(bucket, policy);
    },
    get isAlone() {
      return away;
    },
    async close() {
      redis.disconnect();
      await standIn.close();
    },
  };
}
