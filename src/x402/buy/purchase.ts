import { getAddress, type Hex } from 'viem';
import { type Network, type Networks, type Token, tokenOf } from '../../chains/network.ts';
import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, add, amountOf, type Stored } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Receipt, X402Version } from '../wire/messages.ts';
import type { AcceptedTerms } from './choose-offer.ts';
import type { PurchaseStatus } from './saga.ts';

export interface PurchaseSettings {
  /** The timeout of each request to a seller. */
  readonly timeoutMs: number;
  /** The longest validity of an authorization, and so the longest time that money is held. */
  readonly mostSeconds: number;
  /** The target balance of the wallet that pays sellers. */
  readonly float: Amount;
}

export interface PurchaseParts extends PurchaseSettings {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint;
}

export function homeUsdc(networks: Networks): { readonly network: Network; readonly token: Token } {
  const network = networks.get(homeChain);
  const token = network && tokenOf(network, 'USDC');
  if (network === undefined || token === undefined) throw new Error(`there is no USDC on ${homeChain}`);
  return { network, token };
}

/** `lost`: the process that waited for the answer has crashed. */
export type SellerTrouble = 'timeout' | 'unreachable' | 'lost';

export interface Purchase {
  readonly id: string;
  readonly accountId: bigint;
  /** The key that asked for it. */
  readonly keyId: string | null;
  readonly method: string;
  readonly url: string;
  readonly keyDigest: string | null;
  readonly amount: Amount;
  /** Charged on top of the amount when it was opened; `feeReturned` is the part returned since. */
  readonly fee: Amount;
  readonly feeReturned: Amount;
  readonly version: X402Version;
  readonly terms: AcceptedTerms;
  readonly walletId: string;
  readonly payTo: Hex;
  readonly nonce: Hex;
  /** In seconds since the epoch. */
  readonly validBefore: bigint;
  readonly fromBlock: bigint;
  readonly signature: Hex | null;
  readonly status: PurchaseStatus;
  readonly asks: number;
  readonly sellerStatus: number | null;
  readonly sellerTrouble: SellerTrouble | null;
  readonly receipt: Receipt | null;
  readonly txHash: Hex | null;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** The amount debited when it was opened. */
export const takenFor = ({ amount, fee }: Pick<Purchase, 'amount' | 'fee'>): Amount => add(amount, fee);

export const payStep = (id: string) => ({ sagaId: id, step: 'pay' });

/** No seller would accept an authorization that expires this soon. */
const leastSeconds = 3n;

/** By our clock. The chain's clock decides. */
export function isTooLate({ validBefore }: Pick<Purchase, 'validBefore'>): boolean {
  return BigInt(Math.floor(Date.now() / 1_000)) + leastSeconds > validBefore;
}

/** Whether the seller has answered or will not answer any more. */
export function isAnswered({ sellerStatus, sellerTrouble }: Pick<Purchase, 'sellerStatus' | 'sellerTrouble'>): boolean {
  return sellerStatus !== null || sellerTrouble !== null;
}

/** It may contain secrets of the caller. */
export async function forgetRequest(tx: Transaction, purchaseId: string): Promise<void> {
  await tx.query('DELETE FROM purchase_requests WHERE purchase_id = $1', [purchaseId]);
}

export async function findPurchase(db: Queryable, id: string): Promise<Purchase | undefined> {
  return (await selectPurchases(db, 'WHERE id = $1', [id]))[0];
}

/** The latest one, because earlier purchases used the key before it expired. */
export async function findPurchaseByKey(db: Queryable, keyDigest: string): Promise<Purchase | undefined> {
  return (await selectPurchases(db, 'WHERE key_digest = $1 ORDER BY id DESC LIMIT 1', [keyDigest]))[0];
}

type PurchaseRow = Stored<Omit<Purchase, 'terms' | 'receipt'>, 'amount' | 'fee' | 'feeReturned'> & {
  readonly terms: string;
  readonly receipt: string | null;
};

export async function selectPurchases(db: Queryable, where: string, values: readonly unknown[]): Promise<Purchase[]> {
  const { rows } = await db.query<PurchaseRow>(
    `SELECT id, account_id, key_id, method, url, key_digest, asset, amount, fee,
        (SELECT coalesce(sum(r.atomic), 0) FROM purchase_fees_returned r WHERE r.purchase_id = purchases.id) AS fee_returned,
        x402_version AS version, terms, wallet_id, pay_to, nonce, valid_before, from_block, signature, status, asks,
        seller_status, seller_trouble, receipt, tx_hash, error, created_at, finished_at
      FROM purchases ${where}`,
    values,
  );
  return rows.map(({ asset, ...row }) => ({
    ...row,
    amount: amountOf(asset, row.amount),
    fee: amountOf(asset, row.fee),
    feeReturned: amountOf(asset, row.feeReturned),
    terms: JSON.parse(row.terms) as AcceptedTerms,
    payTo: getAddress(row.payTo),
    receipt: row.receipt === null ? null : (JSON.parse(row.receipt) as Receipt),
  }));
}

/** The wallet chosen when the purchase was opened; after a rotation it is a retired one. */
export async function findPayer(
  db: Queryable,
  { id, walletId }: Pick<Purchase, 'id' | 'walletId'>,
): Promise<HouseWallet> {
  const wallet = await findHouseWalletById(db, walletId);
  if (wallet === undefined) throw new Error(`purchase ${id} is paid from a wallet that is not there`);
  return wallet;
}
