import type { Queryable } from '../kernel/db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import { type Asset, assetIds, type ChainId, homeChain } from '../money/catalogue.ts';
import {
  type AccountId,
  type AccountParts,
  accountParts,
  accountRange,
  assetByCode,
  chainByCode,
  type HouseKind,
  houseAccount,
  slotsOf,
  userAccount,
} from './account-id.ts';

export interface Balance extends AccountParts {
  readonly account: AccountId;
  readonly balance: Amount;
}

/**
 * Every account of an owner, on every chain, except those that no posting ever named and those that only a newer
 * release knows.
 */
export async function balancesOf(db: Queryable, ownerId: bigint): Promise<Balance[]> {
  const { first, end } = accountRange(ownerId);
  const { rows } = await db.query<{ id: bigint; balance: bigint }>(
    'SELECT id, balance FROM ledger.accounts WHERE id >= $1 AND id < $2 ORDER BY id',
    [first, end],
  );
  return rows.flatMap(toBalance);
}

function toBalance({ id, balance }: { readonly id: bigint; readonly balance: bigint }): Balance[] {
  const account = Number(id) as AccountId;
  const parts = accountParts(account);
  return parts === undefined ? [] : [{ ...parts, account, balance: amountOf(parts.asset, balance) }];
}

export interface Claim {
  readonly chain: ChainId;
  readonly total: Amount;
}

/**
 * What is owed to an owner per chain and asset, over all kinds of account, including kinds that only a newer release
 * knows.
 */
export async function claimsOf(db: Queryable, ownerId: bigint): Promise<Claim[]> {
  const { first, end } = accountRange(ownerId);
  const { rows } = await db.query<{ chain: number; asset: number; total: bigint }>(
    `SELECT ledger.chain_of(id)::integer AS chain, ledger.asset_of(id)::integer AS asset, sum(balance) AS total
       FROM ledger.accounts
      WHERE id >= $1 AND id < $2 GROUP BY 1, 2 HAVING sum(balance) > 0 ORDER BY 1, 2`,
    [first, end],
  );
  return rows.flatMap((row) => {
    const [chain, asset] = [chainByCode(row.chain), assetByCode(row.asset)];
    return chain === undefined || asset === undefined ? [] : [{ chain, total: amountOf(asset, row.total) }];
  });
}

/** What a user can spend on one chain, in every asset, zero included. */
export async function spendableBalances(
  db: Queryable,
  ownerId: bigint,
  chain: ChainId = homeChain,
): Promise<Record<Asset, Amount>> {
  const balances = await balancesOf(db, ownerId);
  const entries = assetIds.map((asset) => {
    const account = userAccount(ownerId, asset, chain);
    return [asset, balances.find((balance) => balance.account === account)?.balance ?? amountOf(asset, 0n)] as const;
  });
  return Object.fromEntries(entries) as Record<Asset, Amount>;
}

export async function houseBalance(db: Queryable, kind: HouseKind, asset: Asset, chain: ChainId): Promise<Amount> {
  const { rows } = await db.query<{ balance: bigint | null }>(
    'SELECT sum(balance) AS balance FROM ledger.accounts WHERE id = ANY ($1)',
    [slotsOf(houseAccount(kind, asset, chain))],
  );
  return amountOf(asset, rows[0]?.balance ?? 0n);
}

/** Every house account that a posting ever named, fees as one. */
export async function houseBalances(db: Queryable): Promise<Balance[]> {
  const { rows } = await db.query<{ id: bigint; balance: bigint }>(
    'SELECT id & 16383 AS id, sum(balance) AS balance FROM ledger.accounts WHERE id < 16384 GROUP BY 1 ORDER BY 1',
  );
  return rows.flatMap(toBalance);
}
