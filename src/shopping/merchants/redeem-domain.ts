import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Claimant, findClaimant, openClaimant } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';
import { redeemClaimant } from '../../ledger/redeem-claimant.ts';

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
