import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Claimant, findClaimant, openClaimant } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';
import { redeemClaimant } from '../../ledger/redeem-claimant.ts';

/**
 * The party under which a domain is owed something. It is opened for whoever is about to be bound to it, in a commit of its
 * own, so that an order which was under way at that moment finds whose it is.
 */
export async function openDomainClaimant(db: Queryable, domain: string): Promise<Claimant> {
  return (await openClaimant(db, { kind: 'domain', name: domain, asset: 'USDC', chain: 'MATIC' })).claimant;
}

/**
 * Moves what is owed to a domain, in the caller's commit, as its last statement. The first account that a domain belonged to
 * stays bound to what waits under its name: that was earned while the domain was that account's, or nobody's. Of a domain
 * that has changed hands since, the account that has it now is paid directly and finds nothing here.
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
    // Whoever holds the domain's row is alone with it, but money is not moved on a belief.
    throw new Error(`what is owed to ${domain} was redeemed meanwhile`);
  }
  return owner === accountId ? redeemed.postings : [];
}
