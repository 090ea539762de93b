import { addressBucket } from '../http/client-address.ts';
import type { RateLimiter, RateLimitPolicy } from '../rate-limit/limiter.ts';
import { accountErrors } from './errors.ts';

const windowMs = 15 * 60_000;

/** Wrong passwords, that is: a sign-in that succeeds is taken out of the count again. */
const perAccount: RateLimitPolicy = { limit: 10, windowMs };
const perAddress: RateLimitPolicy = { limit: 50, windowMs };

export interface SignInThrottle {
  /** Counts an attempt before its password is looked at, so that many at once gain nothing. Call it in turn. */
  begin(attempt: { readonly accountId: bigint; readonly ip: string }): Promise<{ succeeded(): Promise<void> }>;
}

export function createSignInThrottle(limiter: RateLimiter): SignInThrottle {
  async function take(bucket: string, policy: RateLimitPolicy): Promise<() => Promise<void>> {
    const decision = await limiter.take(bucket, policy);
    if (!decision.allowed) {
      const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
      throw accountErrors.too_many_attempts(`Too many wrong passwords. Try again in ${seconds} seconds.`, {
        headers: { 'Retry-After': String(seconds) },
      });
    }
    return async () => decision.giveBack();
  }

  return {
    async begin({ accountId, ip }) {
      const giveBackAddress = await take(`sign-in:ip:${addressBucket(ip)}`, perAddress);
      const giveBackAccount = await take(`sign-in:account:${accountId}`, perAccount);
      return {
        async succeeded() {
          await giveBackAddress();
          await giveBackAccount();
        },
      };
    },
  };
}
