import type { Database, Transaction } from '../../kernel/db/database.ts';
import { type AccountId, dueAccount, userAccount } from '../../ledger/account-id.ts';
import { openClaimant } from '../../ledger/claimants.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Order } from './order.ts';

/** The ledger account that a shop is paid to: its own or, while it has none, the one of its domain. */
export interface Seller {
  readonly account: AccountId;
  /** Undefined while the shop has no account. */
  readonly accountId: bigint | undefined;
}

/**
 * Call before the commit that pays the shop, because opening the domain's claimant is a commit of its own. Undefined if the order
 * belongs to an account.
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
 * Call in the commit that pays the shop. The seller is the account that received the order, whoever owns the domain now; without
 * one, the first account that proves the domain. The row lock on the claimant orders this against a concurrent proof, so that the
 * money reaches the new owner either way.
 */
export async function findSeller(
  tx: Transaction,
  { merchantId, asset }: Pick<Order, 'merchantId' | 'asset'>,
  claimantId: bigint | undefined,
): Promise<Seller> {
  if (merchantId !== null) return { account: userAccount(merchantId, asset), accountId: merchantId };
  if (claimantId === undefined) throw new Error('nothing was opened for a shop without an account');
  const { rows } = await tx.query<{ accountId: bigint | null }>(
    'SELECT account_id FROM claimants WHERE id = $1 FOR SHARE',
    [claimantId],
  );
  const accountId = rows[0]?.accountId ?? undefined;
  return accountId === undefined
    ? { account: dueAccount(claimantId, asset), accountId: undefined }
    : { account: userAccount(accountId, asset), accountId };
}
