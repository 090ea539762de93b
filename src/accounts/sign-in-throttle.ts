import type { RateLimitConfig } from '../config.ts';
import { networksOf } from '../http/client-address.ts';
import { applyRefusal, countRequest, limitsOfAddress } from '../http/rate-limits.ts';
import type { RateLimitDecision, RateLimiter } from '../rate-limit/limiter.ts';
import { accountErrors } from './errors.ts';

const windowMs = 15 * 60_000;

/**
 * Wrong passwords, that is: a sign-in that succeeds is taken out of the count again. One address may try an account a few
 * times; all addresses together may try it more often, so that nobody locks an owner out from elsewhere with a handful.
 */
const limits = { accountFromAddress: 10, address: 50, network: 200, account: 200 };

export interface SignInThrottle {
  /** Counts an attempt before its password is looked at, so that many at once gain nothing. Call it in turn. */
  begin(attempt: { readonly accountId: bigint; readonly ip: string }): Promise<{ succeeded(): Promise<void> }>;
  /** A key lifts its caller out of the address's count; what creates accounts is counted by address all the same. */
  admitRegistration(ip: string): Promise<void>;
}

export function createSignInThrottle(limiter: RateLimiter, rateLimits: RateLimitConfig): SignInThrottle {
  return {
    async begin({ accountId, ip }) {
      const { nearest: address, wider: network } = networksOf(ip);
      const taken: RateLimitDecision[] = [];
      const giveBack = async () => {
        for (const decision of taken.splice(0)) await decision.giveBack();
      };
      const buckets = [
        [`sign-in:${accountId}:${address}`, limits.accountFromAddress],
        [`sign-in:ip:${address}`, limits.address],
        ...(network === undefined ? [] : [[`sign-in:ip:${network}`, limits.network] as const]),
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
      const counted = await countRequest(limiter, limitsOfAddress(rateLimits, ip));
      if (counted !== undefined) applyRefusal(counted);
    },
  };
}

function tooMany({ resetMs }: RateLimitDecision) {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  return accountErrors.too_many_attempts(`Too many wrong passwords. Try again in ${seconds} seconds.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
