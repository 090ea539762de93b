import { z } from 'zod';
import type { RateLimitConfig } from '../config.ts';
import type { Transaction } from '../db/database.ts';
import type { Caller } from '../http/define-route.ts';
import { limitOfTier } from '../http/rate-limits.ts';

export const tier = z.enum(['free', 'pro', 'enterprise'], { error: 'must be free, pro or enterprise' });

export async function setTier(tx: Transaction, accountId: bigint, wanted: Caller['tier']): Promise<void> {
  await tx.query('UPDATE accounts SET tier = $2 WHERE id = $1', [accountId, wanted]);
}

export function describeLimit(limits: RateLimitConfig, of: Caller['tier']): string {
  const limit = limitOfTier(limits, of);
  return limit === 0 ? 'unlimited' : `${limit} requests per minute`;
}
