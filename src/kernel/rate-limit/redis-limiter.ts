import { Redis } from 'ioredis';
import { monotonicClock } from '../clock.ts';
import { randomBase62 } from '../ids/ids.ts';
import type { Logger } from '../log/logger.ts';
import type { RateLimitDecision, RateLimiter, RateLimitOutlook, RateLimitPolicy } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { sentinelOptions } from './redis-url.ts';

/**
 * One sorted set per bucket, scored by Redis's own time in microseconds, so that instances with different clocks
 * agree. Checking and counting are one script, so two requests cannot take the same last place. An empty member only
 * checks.
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

/** After a timeout, requests skip Redis for this long. Then one request asks, and the others skip Redis until it has an answer. */
const pauseMs = 1_000;

const options = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Longer than this process is ever blocked, so that a busy event loop does not loosen the limits.
  commandTimeout: 2_000,
  // Leaves a Redis that stands still, whose connection would stay open. The Sentinels may know another one by now.
  socketTimeout: 2_000,
  connectTimeout: 2_000,
  // A Sentinel that accepts connections and never answers is left for the next one.
  sentinelCommandTimeout: 2_000,
  // The address of a managed Redis leads to another server after a failover, while the connection to a replica stays open.
  // Redis 6 says it in the middle of a script's error.
  reconnectOnError: ({ message }: Error) => /(?:^|-)READONLY /.test(message),
  retryStrategy: (attempt: number) => Math.min(attempt * 200, 2_000),
};

interface ScriptedRedis extends Redis {
  takePlace(bucket: string, limit: number, windowMs: number, member: string): Promise<[number, number, number]>;
}

/** Shared by all instances. While Redis is unreachable each instance limits on its own, and logs it once per outage. */
export function createRedisLimiter(url: string, logger: Logger): RateLimiter {
  const sentinels = sentinelOptions(url);
  const redis = (
    sentinels === undefined ? new Redis(url, options) : new Redis({ ...options, ...sentinels })
  ) as ScriptedRedis;
  redis.defineCommand('takePlace', { numberOfKeys: 1, lua: takeScript });
  const standIn = createMemoryLimiter(monotonicClock);
  let away = false;
  let askAgainAt = 0;

  redis.on('error', (error) => noteAway(error));
  // A failed first connection is reported through 'error' and retried like any other.
  redis.connect().catch(() => {});

  function noteAway(error: unknown): void {
    if (!away)
      logger.warn({ err: error }, 'Redis is unreachable: each instance counts requests on its own until it is back');
    away = true;
    askAgainAt = performance.now() + pauseMs;
  }

  function noteAnswer(): void {
    if (away) logger.info('Redis is back: rate limits are shared again');
    away = false;
  }

  const keyOf = (bucket: string) => `paywright:limit:${bucket}`;

  /** Undefined while Redis is unreachable. */
  async function ask(bucket: string, policy: RateLimitPolicy, member: string): Promise<RateLimitOutlook | undefined> {
    if (away) {
      if (performance.now() < askAgainAt) return undefined;
      askAgainAt = Number.POSITIVE_INFINITY;
    }
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
