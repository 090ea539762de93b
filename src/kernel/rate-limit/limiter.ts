/** At most `limit` within any `windowMs`. A limit of 0 means that everything passes. */
export interface RateLimitPolicy {
  readonly limit: number;
  readonly windowMs: number;
}

export interface RateLimitOutlook {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Until the oldest counted request leaves the window: the earliest moment at which there is more room. */
  readonly resetMs: number;
}

export interface RateLimitDecision extends RateLimitOutlook {
  /** Takes this request out of the count again, as if it had not been made. */
  giveBack(): void | Promise<void>;
}

/**
 * A sliding window: whatever 60 seconds one looks at, at most N requests passed in them, and of a burst of more than N
 * exactly N pass. Only what passes is counted. In process the answer comes at once; from Redis it is a promise.
 */
export interface RateLimiter {
  take(bucket: string, policy: RateLimitPolicy): RateLimitDecision | Promise<RateLimitDecision>;
  /** Tells whether there is a place, and takes none. */
  peek(bucket: string, policy: RateLimitPolicy): RateLimitOutlook | Promise<RateLimitOutlook>;
  /** Whether the count that is shared with other processes is out of reach, and this one counts by itself. */
  readonly isAlone?: boolean;
  close(): Promise<void>;
}
