import type { RateLimitConfig } from '../config.ts';
import { addressBucket } from '../http/client-address.ts';
import { applyRefusal } from '../http/rate-limits.ts';
import type { RateLimitDecision, RateLimiter } from '../rate-limit/limiter.ts';
import { accountErrors } from './errors.ts';

const windowMs = 15 * 60_000;

/**
 * Wrong passwords, that is: a sign-in that succeeds is taken out of the count again. One address may try an account a few
 * times; all addresses together may try it more often, so that nobody locks an owner out from elsewhere with a handful.
 */
const limits = { accountFromAddress: 10, address: 50, account: 200 };

export interface SignInThrottle {
  /** Counts an attempt before its password is looked at, so that many at once gain nothing. Call it in turn. */
  begin(attempt: { readonly accountId: bigint; readonly ip: string }): Promise<{ succeeded(): Promise<void> }>;
  /** A key lifts its caller out of the address's count; what creates accounts is counted by address all the same. */
  admitRegistration(ip: string): Promise<void>;
}

export function createSignInThrottle(limiter: RateLimiter, rateLimits: RateLimitConfig): SignInThrottle {
  return {
    async begin({ accountId, ip }) {
      const address = addressBucket(ip);
      const taken: RateLimitDecision[] = [];
      const giveBack = async () => {
        for (const decision of taken.splice(0)) await decision.giveBack();
      };
      const buckets = [
        [`sign-in:${accountId}:${address}`, limits.accountFromAddress],
        [`sign-in:ip:${address}`, limits.address],
        [`sign-in:account:${accountId}`, limits.account],
      ] as const;
      for (const [bucket, limit] of buckets) {
        const decision = await limiter.take(bucket, { limit, windowMs });
        if (!decision.allowed) {
          await giveBack();
          throw tooMany(decision);
        }
        taken.push(decision);
      }
      return { succeeded: giveBack };
    },

    async admitRegistration(ip) {
      const limit = rateLimits.anonymous;
      if (limit === 0) return;
      applyRefusal(limit, await limiter.take(`ip:${addressBucket(ip)}`, { limit, windowMs: 60_000 }));
    },
  };
}

function tooMany({ resetMs }: RateLimitDecision) {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  return accountErrors.too_many_attempts(`Too many wrong passwords. Try again in ${seconds} seconds.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
