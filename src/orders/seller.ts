import { homeChain } from '../chains/chains.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type AccountId, dueAccount, userAccount } from '../ledger/account-id.ts';
import { openClaimant } from '../ledger/claimants.ts';
import { findMerchant } from '../merchants/find-merchant.ts';
import type { OrderAsset } from './order.ts';

/** Where a shop's money is: in its own account, or in the books under its domain until it has one. */
export interface Seller {
  readonly account: AccountId;
  /** Undefined while it has no account. */
  readonly accountId: bigint | undefined;
}

/** Before the commit that pays it: opening what is owed to a domain is a commit of its own. */
export async function openSeller(db: Database, domain: string, asset: OrderAsset): Promise<bigint> {
  const { claimant } = await openClaimant(db, { kind: 'domain', name: domain, asset, chain: homeChain });
  return claimant.id;
}

/**
 * In the commit that pays it. The claimant is held: whoever proves to be the shop at this moment either finds this money, or is
 * found here.
 */
export async function findSeller(
  tx: Transaction,
  { domain, claimantId, asset }: { readonly domain: string; readonly claimantId: bigint; readonly asset: OrderAsset },
): Promise<Seller> {
  const { rows } = await tx.query<{ accountId: bigint | null }>(
    'SELECT account_id AS "accountId" FROM claimants WHERE id = $1 FOR SHARE',
    [claimantId],
  );
  const accountId = (await findMerchant(tx, domain))?.accountId ?? rows[0]?.accountId ?? undefined;
  return accountId === undefined
    ? { account: dueAccount(claimantId, asset), accountId: undefined }
    : { account: userAccount(accountId, asset), accountId };
}
