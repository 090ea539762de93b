import type { ErrorKind } from '../../kernel/http/problem.ts';
import type { RateLimiter, RateLimitOutlook, RateLimitPolicy } from '../../kernel/rate-limit/limiter.ts';
import { purchaseErrors } from './errors.ts';

const minuteMs = 60_000;

/** Free answers per account and hour. */
const free: RateLimitPolicy = { limit: 120, windowMs: 60 * minuteMs };

/**
 * Failed calls have their own limits, because a caller could still make us send requests anywhere. One seller that is
 * down uses up its own limit, for ten minutes at most, and never the account's: 6 × 150 is less than 1,200.
 */
const failedOfSeller: RateLimitPolicy = { limit: 150, windowMs: 10 * minuteMs };
const failed: RateLimitPolicy = { limit: 1_200, windowMs: 60 * minuteMs };

export function createFreeCalls(limiter: RateLimiter, accountId: bigint, url: string) {
  const { too_many_free_answers, too_many_failed_calls } = purchaseErrors;
  const answers = { bucket: `free-calls:${accountId}`, policy: free, error: too_many_free_answers };
  const failures = [
    { bucket: `failed-calls:${accountId}:${new URL(url).host}`, policy: failedOfSeller, error: too_many_failed_calls },
    { bucket: `failed-calls:${accountId}`, policy: failed, error: too_many_failed_calls },
  ];
  const take = async ({ bucket, policy, error }: typeof answers) =>
    refuseWithout(await limiter.take(bucket, policy), error);
  return {
    /** Only checks. A call that will be paid for does not count. */
    async refuseFull(): Promise<void> {
      for (const { bucket, policy, error } of [answers, ...failures]) {
        refuseWithout(await limiter.peek(bucket, policy), error);
      }
    },
    /** Counts a free answer. If concurrent calls have used up the limit, the answer is not passed on. */
    countFree: () => take(answers),
    /** Counts a failed or unreachable seller in the same way. */
    async countFailure(): Promise<void> {
      for (const bound of failures) await take(bound);
    },
  };
}

function refuseWithout({ allowed, resetMs }: RateLimitOutlook, error: ErrorKind): void {
  if (allowed) return;
  throw error(undefined, { headers: { 'Retry-After': String(Math.max(1, Math.ceil(resetMs / 1_000))) } });
}
