import type { Database, Transaction } from '../../kernel/db/database.ts';
import { type AccountId, dueAccount, userAccount } from '../../ledger/account-id.ts';
import { openClaimant } from '../../ledger/claimants.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Order } from './order.ts';

/** Where a shop's money is: in its own account, or in the books under its domain until it has one. */
export interface Seller {
  readonly account: AccountId;
  /** Undefined while it has no account. */
  readonly accountId: bigint | undefined;
}

/**
 * Before the commit that pays it: opening what is owed to a domain is a commit of its own. Undefined where the order belongs to an
 * account.
 */
export async function openSeller(
  db: Database,
  { merchantId, domain, asset }: Pick<Order, 'merchantId' | 'domain' | 'asset'>,
): Promise<bigint | undefined> {
  if (merchantId !== null) return undefined;
  const { claimant } = await openClaimant(db, { kind: 'domain', name: domain, asset, chain: homeChain });
  return claimant.id;
}

/**
 * In the commit that pays it: the account that received the order, whoever has the domain now. Where the domain had none, the first
 * account that proves it. The claimant is held: whoever proves to be the shop at this moment either finds this money, or is found here.
 */
export async function findSeller(
  tx: Transaction,
  { merchantId, asset }: Pick<Order, 'merchantId' | 'asset'>,
  claimantId: bigint | undefined,
): Promise<Seller> {
  if (merchantId !== null) return { account: userAccount(merchantId, asset), accountId: merchantId };
  if (claimantId === undefined) throw new Error('nothing was opened for a shop without an account');
  const { rows } = await tx.query<{ accountId: bigint | null }>(
    'SELECT account_id AS "accountId" FROM claimants WHERE id = $1 FOR SHARE',
    [claimantId],
  );
  const accountId = rows[0]?.accountId ?? undefined;
  return accountId === undefined
    ? { account: dueAccount(claimantId, asset), accountId: undefined }
    : { account: userAccount(accountId, asset), accountId };
}
