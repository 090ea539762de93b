import { z } from 'zod';
import type { Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { limitOfTier } from '../kernel/http/rate-limits.ts';
import type { RateLimitConfig } from '../kernel/rate-limit/rate-limit-config.ts';
import { recordAccountChanged } from './account-events.ts';
import { type AuditActor, recordAudit } from './audit/record.ts';

export const tier = z.enum(['free', 'pro', 'enterprise'], { error: 'must be free, pro or enterprise' });

/** Returns false when the account already has this tier. */
export async function setTier(
  tx: Transaction,
  {
    accountId,
    tier: wanted,
    by,
  }: { readonly accountId: bigint; readonly tier: Caller['tier']; readonly by: AuditActor },
): Promise<boolean> {
  const { rowCount } = await tx.query('UPDATE accounts SET tier = $2 WHERE id = $1 AND tier <> $2', [
    accountId,
    wanted,
  ]);
  if (rowCount === 0) return false;
  await recordAudit(tx, { accountId, action: 'tier.changed', by, details: { tier: wanted } });
  await recordAccountChanged(tx, accountId, { fields: ['tier'], by });
  return true;
}

export function describeLimit(limits: RateLimitConfig, of: Caller['tier']): string {
  const limit = limitOfTier(limits, of);
  return limit === 0 ? 'unlimited' : `${limit} requests per minute`;
}
