import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { type Claimant, findClaimant, openClaimant, redeemClaimant, walkDues } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';

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

/**
 * Opens the ledger party that holds what a domain is owed. It must commit before the domain gets an owner, so that an order in
 * progress at that moment finds the owner.
 */
export async function openDomainClaimant(db: Queryable, domain: string): Promise<Claimant> {
  return (await openClaimant(db, { kind: 'domain', name: domain, asset: 'USDC', chain: 'MATIC' })).claimant;
}

/**
 * Moves what a domain is owed, as the last statement of the caller's commit. The first account that owned the domain keeps what
 * is held under its name: it was earned while the domain belonged to that account or to no account. Later owners are paid
 * directly and get nothing here.
 */
export async function redeemDomain(
  tx: Transaction,
  ledger: Ledger,
  { domain, accountId }: { readonly domain: string; readonly accountId: bigint },
): Promise<readonly Posted[]> {
  const claimant = await findClaimant(tx, { kind: 'domain', name: domain });
  if (claimant === undefined) return [];
  const owner = claimant.accountId ?? accountId;
  const redeemed = await redeemClaimant(tx, ledger, { claimant, accountId: owner });
  if (redeemed.outcome === 'redeemed_by_another') {
    // The row lock on the domain rules this out, but money is not moved on an assumption.
    throw new Error(`what is owed to ${domain} was redeemed meanwhile`);
  }
  return owner === accountId ? redeemed.postings : [];
}
