/** At most `limit` within any `windowMs`; 0 is unlimited. */
export interface RateLimitPolicy {
  readonly limit: number;
  readonly windowMs: number;
}

export interface RateLimitOutlook {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Time until the oldest counted request leaves the window, which is the earliest moment with more capacity. */
  readonly resetMs: number;
}

export interface RateLimitDecision extends RateLimitOutlook {
  /** Removes this request from the count. */
  giveBack(): void | Promise<void>;
}

/**
 * A sliding window: any window of this length contains at most `limit` requests, and a larger burst passes exactly
 * `limit`. Refused requests are not counted. Synchronous in memory; a promise with Redis.
 */
export interface RateLimiter {
  take(bucket: string, policy: RateLimitPolicy): RateLimitDecision | Promise<RateLimitDecision>;
  /** Checks without counting. */
  peek(bucket: string, policy: RateLimitPolicy): RateLimitOutlook | Promise<RateLimitOutlook>;
  /** Whether Redis is unreachable and this process counts on its own. */
  readonly isAlone?: boolean;
  close(): Promise<void>;
}
