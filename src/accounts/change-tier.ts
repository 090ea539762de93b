import type { RateLimitConfig } from '../config.ts';
import type { Transaction } from '../db/database.ts';
import type { Caller } from '../http/define-route.ts';
import { limitOfTier } from '../http/rate-limits.ts';

export async function setTier(tx: Transaction, accountId: bigint, tier: Caller['tier']): Promise<void> {
  await tx.query('UPDATE accounts SET tier = $2 WHERE id = $1', [accountId, tier]);
}

export function describeLimit(limits: RateLimitConfig, tier: Caller['tier']): string {
  const limit = limitOfTier(limits, tier);
  return limit === 0 ? 'unlimited' : `${limit} requests per minute`;
}
