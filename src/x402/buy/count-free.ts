import type { RateLimiter, RateLimitOutlook, RateLimitPolicy } from '../../kernel/rate-limit/limiter.ts';
import { purchaseErrors } from './errors.ts';

const minuteMs = 60_000;

/** So many answers in an hour may have cost an account nothing. */
const free: RateLimitPolicy = { limit: 120, windowMs: 60 * minuteMs };

/**
 * What a seller fails at is nobody's free answer, but a stranger could still have us knock anywhere. One seller that is away uses up its own
 * bound, for ten minutes at most, and never that of the account: 6 × 150 are less than 1,200.
 */
const failedOfSeller: RateLimitPolicy = { limit: 150, windowMs: 10 * minuteMs };
const failed: RateLimitPolicy = { limit: 1_200, windowMs: 60 * minuteMs };

interface Bound {
  readonly bucket: string;
  readonly policy: RateLimitPolicy;
  readonly error: typeof purchaseErrors.too_many_free_answers;
}

export interface FreeCalls {
  /** Only looks: a call that will be paid for takes no place, however many are under way. */
  refuseFull(): Promise<void>;
  /** Takes a place for an answer that turned out to be free. When others were faster to the last one, it is not passed on. */
  countFree(): Promise<void>;
  /** Likewise, when the seller failed or could not be reached. */
  countFailure(): Promise<void>;
}

/** Counts the calls of an account to a seller that cost nothing. */
export function createFreeCalls(limiter: RateLimiter, accountId: bigint, url: string): FreeCalls {
  const { too_many_free_answers, too_many_failed_calls } = purchaseErrors;
  const answers = { bucket: `free-calls:${accountId}`, policy: free, error: too_many_free_answers };
  const failures = [
    { bucket: `failed-calls:${accountId}:${new URL(url).host}`, policy: failedOfSeller, error: too_many_failed_calls },
    { bucket: `failed-calls:${accountId}`, policy: failed, error: too_many_failed_calls },
  ];
  const take = async (bound: Bound) => refuseWithout(await limiter.take(bound.bucket, bound.policy), bound);
  return {
    async refuseFull() {
      for (const bound of [answers, ...failures]) refuseWithout(await limiter.peek(bound.bucket, bound.policy), bound);
    },
    countFree: () => take(answers),
    async countFailure() {
      for (const bound of failures) await take(bound);
    },
  };
}

function refuseWithout({ allowed, resetMs }: RateLimitOutlook, { error }: Bound): void {
  if (allowed) return;
  throw error(undefined, { headers: { 'Retry-After': String(Math.max(1, Math.ceil(resetMs / 1_000))) } });
}
