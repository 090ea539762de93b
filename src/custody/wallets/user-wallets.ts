import { getAddress, type Hex } from 'viem';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type ChainId, chainIds, homeChain } from '../../money/catalogue.ts';
import { checksummed } from './house-wallets.ts';
import type { HeldWallet, NewWallet, WalletProvider } from './provider.ts';

export interface UserWallet extends HeldWallet {
  readonly id: string;
  readonly accountId: bigint;
  readonly provider: string;
  /** From an earlier seed: its address is not shown any more, but deposits there are still credited. */
  readonly retired: boolean;
}

export interface UserWalletParts {
  readonly db: Database;
  readonly provider: WalletProvider;
}

async function findUserWallet(db: Queryable, accountId: bigint, chain: ChainId): Promise<UserWallet | undefined> {
  const { rows } = await db.query<UserWallet>(
    `${selectWallet} WHERE account_id = $1 AND chain = $2 AND retired_at IS NULL`,
    [accountId, chain],
  );
  return rows[0] && checksummed(rows[0]);
}

/**
 * The account's wallet on a chain. Creates it if missing, by extending the account's wallet on another chain.
 * Concurrent requests agree on the first one inserted.
 */
export async function openUserWallet(
  { db, provider }: UserWalletParts,
  accountId: bigint,
  chain: ChainId,
): Promise<{ readonly wallet: UserWallet; readonly existing: boolean }> {
  const found = await findUserWallet(db, accountId, chain);
  if (found !== undefined) return { wallet: found, existing: true };
  const elsewhere = await findOnAnyChain(db, provider, accountId);
  const fresh = elsewhere
    ? await provider.extendWallet(elsewhere, chain)
    : await provider.createWallet({ chain: homeChain });
  const extended = elsewhere || chain === homeChain ? fresh : await provider.extendWallet(fresh, chain);
  const existing = !(await insertWallet(db, { accountId, chain, provider, wallet: extended, retired: false }));
  const wallet = await findUserWallet(db, accountId, chain);
  if (wallet === undefined)
    throw new Error(`the wallet of account ${accountId} on ${chain} belongs to another account`);
  return { wallet, existing };
}

/**
 * The wallet at an address on a chain, even if its owner never opened one there: a key has the same address on every
 * chain, so tokens can arrive on any of them. Undefined when the address is not ours.
 */
export async function openWalletAt(
  { db, provider }: UserWalletParts,
  address: Hex,
  chain: ChainId,
): Promise<UserWallet | undefined> {
  const [here] = await walletsAt(db, address, [chain]);
  if (here !== undefined) return here;
  const [elsewhere] = await walletsAt(db, address, chainIds);
  if (elsewhere === undefined) return undefined;
  const { accountId } = elsewhere;
  const wallet = await provider.extendWallet(elsewhere, chain);
  if (getAddress(wallet.address) !== getAddress(address)) return undefined;
  // Beside a newer wallet of the same owner this one is only emptied.
  const retired = elsewhere.retired || (await findUserWallet(db, accountId, chain)) !== undefined;
  await insertWallet(db, { accountId, chain, provider, wallet, retired });
  return (await walletsAt(db, address, [chain]))[0];
}

interface WalletToInsert {
  readonly accountId: bigint;
  readonly chain: ChainId;
  readonly provider: WalletProvider;
  readonly wallet: NewWallet;
  readonly retired: boolean;
}

/** False when a concurrent request was first. */
async function insertWallet(
  db: Queryable,
  { accountId, chain, provider, wallet, retired }: WalletToInsert,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address, retired_at)
     VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() END) ON CONFLICT DO NOTHING`,
    [newId('wal'), accountId, chain, provider.name, wallet.ref, wallet.address, retired],
  );
  return rowCount === 1;
}

/** A provider cannot extend another provider's wallet. */
async function findOnAnyChain(
  db: Queryable,
  provider: WalletProvider,
  accountId: bigint,
): Promise<UserWallet | undefined> {
  const { rows } = await db.query<UserWallet>(
    `${selectWallet} WHERE account_id = $1 AND retired_at IS NULL AND provider = $2 ORDER BY chain = $3 DESC, created_at
      LIMIT 1`,
    [accountId, provider.name, homeChain],
  );
  return rows[0] && checksummed(rows[0]);
}

export async function findUserWalletById(db: Queryable, id: string): Promise<UserWallet | undefined> {
  const { rows } = await db.query<UserWallet>(`${selectWallet} WHERE id = $1`, [id]);
  return rows[0] && checksummed(rows[0]);
}

/** Addresses are stored as the provider spelled them, perhaps in lower case. */
async function walletsAt(db: Queryable, address: Hex, chains: readonly ChainId[]): Promise<UserWallet[]> {
  const { rows } = await db.query<UserWallet>(
    `${selectWallet} WHERE chain = ANY ($1) AND address = ANY ($2) ORDER BY retired_at IS NOT NULL, created_at`,
    [chains, [getAddress(address), address.toLowerCase()]],
  );
  return rows.map(checksummed);
}

const selectWallet =
  'SELECT id, account_id, chain, provider, provider_ref AS ref, address, retired_at IS NOT NULL AS retired FROM wallets';

/** Gives an account its wallet on a chain, in the commit that creates the account. */
export async function assignWallet(
  tx: Transaction,
  { accountId, chain, provider, wallet }: { accountId: bigint; chain: ChainId; provider: string; wallet: NewWallet },
): Promise<{ readonly walletId: string; readonly address: string }> {
  const walletId = newId('wal');
  await tx.query(
    'INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address) VALUES ($1, $2, $3, $4, $5, $6)',
    [walletId, accountId, chain, provider, wallet.ref, wallet.address],
  );
  return { walletId, address: wallet.address };
}
