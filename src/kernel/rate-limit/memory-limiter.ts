import type { Clock } from '../clock.ts';
import type { RateLimitDecision, RateLimiter, RateLimitOutlook, RateLimitPolicy } from './limiter.ts';

const sweepEveryMs = 60_000;

/** Times of passed requests, oldest first, in a ring buffer that grows up to the limit. */
class PassLog {
  #times = new Float64Array(8);
  #head = 0;
  size = 0;
  windowMs = 0;

  get oldest(): number {
    return this.#times[this.#head] ?? 0;
  }

  dropUntil(moment: number): void {
    while (this.size > 0 && this.oldest <= moment) {
      this.#head = (this.#head + 1) % this.#times.length;
      this.size--;
    }
  }

  push(moment: number): void {
    if (this.size === this.#times.length) this.#grow();
    this.#times[(this.#head + this.size) % this.#times.length] = moment;
    this.size++;
  }

  /** Removing the newest is enough, because only the number and the oldest time matter. */
  dropNewest(): void {
    if (this.size > 0) this.size--;
  }

  #grow(): void {
    const wider = new Float64Array(this.#times.length * 2);
    for (let i = 0; i < this.size; i++) wider[i] = this.#times[(this.#head + i) % this.#times.length] ?? 0;
    this.#times = wider;
    this.#head = 0;
  }
}

export function createMemoryLimiter(clock: Clock): RateLimiter {
  const logs = new Map<string, PassLog>();
  const sweeper = setInterval(sweep, sweepEveryMs).unref();

  function sweep(): void {
    const now = clock.now();
    for (const [bucket, log] of logs) {
      log.dropUntil(now - log.windowMs);
      if (log.size === 0) logs.delete(bucket);
    }
  }

  function logFor(bucket: string): PassLog {
    const known = logs.get(bucket);
    if (known) return known;
    const fresh = new PassLog();
    logs.set(bucket, fresh);
    return fresh;
  }

  function outlookOf(log: PassLog, { limit, windowMs }: RateLimitPolicy, now: number) {
    return {
      remaining: Math.max(0, limit - log.size),
      // At most one window: floating-point rounding may leave a little more.
      resetMs: log.size === 0 ? 0 : Math.min(windowMs, log.oldest + windowMs - now),
    };
  }

  return {
    take(bucket: string, policy: RateLimitPolicy): RateLimitDecision {
      const now = clock.now();
      const log = logFor(bucket);
      log.windowMs = policy.windowMs;
      log.dropUntil(now - policy.windowMs);
      const allowed = log.size < policy.limit;
      if (allowed) log.push(now);
      const { remaining, resetMs } = outlookOf(log, policy, now);
      const giveBack = () => {
        if (allowed) log.dropNewest();
      };
      return { allowed, remaining, resetMs, giveBack };
    },
    peek(bucket: string, policy: RateLimitPolicy): RateLimitOutlook {
      const now = clock.now();
      // A bucket that is only peeked at is not stored.
      const log = logs.get(bucket) ?? new PassLog();
      log.dropUntil(now - policy.windowMs);
      return { allowed: log.size < policy.limit, ...outlookOf(log, policy, now) };
    },
    async close() {
      clearInterval(sweeper);
    },
  };
}
