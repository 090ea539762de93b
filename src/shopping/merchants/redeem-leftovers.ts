import { z } from 'zod';
import type { Database } from '../../kernel/db/database.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { walkDues } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { redeemDomain } from './redeem-domain.ts';

const redeemJob = defineJob({ name: 'redeem-domains', payload: z.unknown(), maxAttempts: 1 });

export function redeemLeftoversSchedule(db: Database, ledger: Ledger): Schedule {
  return { at: '*/10 * * * *', handler: handleJob(redeemJob, () => redeemLeftovers(db, ledger)) };
}

/**
 * An order can be paid to a domain's name at the very moment when the domain gets its account. This job moves such money without
 * a request from the owner.
 */
export async function redeemLeftovers(db: Database, ledger: Ledger): Promise<void> {
  const owed = new Set<string>();
  for await (const { claimant } of walkDues(db, { kind: 'domain' })) owed.add(claimant.name);
  const { rows } = await db.query<{ domain: string; accountId: bigint }>(
    `SELECT c.name AS domain, coalesce(c.account_id, m.account_id) AS account_id
       FROM claimants c LEFT JOIN merchants m ON m.domain = c.name
      WHERE c.kind = 'domain' AND c.name = ANY ($1) AND coalesce(c.account_id, m.account_id) IS NOT NULL`,
    [[...owed]],
  );
  for (const { domain, accountId } of rows) {
    await db.transaction(async (tx) => {
      await tx.query('SELECT FROM merchants WHERE domain = $1 FOR UPDATE', [domain]);
      await redeemDomain(tx, ledger, { domain, accountId });
    });
  }
}
