import type { Database, Queryable } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { Claim } from './build-tree.ts';
import { type LedgerCopy, withLedgerCopy } from './copy-balances.ts';

export interface TreeClaims {
  /** As named in the ledger's tables: a newer release may have added names that this one does not know. */
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly claims: readonly Claim[];
  /** The accounts of the claims, in the same order. */
  readonly accountIds: readonly bigint[];
  readonly owed: bigint;
  /** What is owed to the house, or zero when the sum is negative. */
  readonly house: bigint;
  readonly blockNumber: bigint | null;
}

/**
 * All claims at one moment: per owner one for each chain and asset, over all kinds of account. A chain and asset
 * without claims is left out.
 */
export async function readClaims(db: Database): Promise<{ readonly at: Date; readonly trees: readonly TreeClaims[] }> {
  const { at, found } = await withLedgerCopy(db, async (copy) => ({ at: copy.at, found: await sumUp(copy) }));
  const trees: TreeClaims[] = [];
  for (const { owners, house, ...pair } of found) {
    if (owners.size === 0) continue;
    const claims = await nameOwners(db, owners);
    const owed = claims.reduce((sum, { balance }) => sum + balance, house);
    trees.push({ ...pair, claims, accountIds: [...owners.keys()], owed, house: house > 0n ? house : 0n });
  }
  return { at, trees };
}

interface PairClaims extends Pick<TreeClaims, 'chain' | 'asset' | 'blockNumber'> {
  /** The balance of each owner. */
  readonly owners: Map<bigint, bigint>;
  house: bigint;
}

async function sumUp({ balances, chains, assets, kinds, blockNumbers }: LedgerCopy): Promise<PairClaims[]> {
  const pairs = new Map<number, PairClaims>();
  for await (const rows of balances()) {
    for (const { id, balance } of rows) {
      const code = Number(id & 255n);
      const pair = pairs.get(code) ?? openPair(code);
      pairs.set(code, pair);
      const owner = id >> 14n;
      const countsAs = kinds.get(Number((id >> 8n) & 63n));
      if (countsAs === 'users') pair.owners.set(owner, (pair.owners.get(owner) ?? 0n) + balance);
      if (countsAs === 'house') pair.house += balance;
    }
  }
  return [...pairs.values()];

  function openPair(code: number): PairClaims {
    const [chain, asset] = [chains.get(code >> 4), assets.get(code & 15)];
    if (chain === undefined || asset === undefined)
      throw new Error(`the ledger has no chain or asset for code ${code}`);
    const blockNumber = blockNumbers.get(chain) ?? null;
    return { chain: chain as ChainId, asset: asset as Asset, blockNumber, owners: new Map(), house: 0n };
  }
}

const namesPerQuery = 5_000;

/** Handles never change, so they need not be read at the same moment as the balances. */
async function nameOwners(db: Queryable, owners: ReadonlyMap<bigint, bigint>): Promise<Claim[]> {
  const ids = [...owners.keys()];
  const claims: Claim[] = [];
  for (let start = 0; start < ids.length; start += namesPerQuery) {
    const some = ids.slice(start, start + namesPerQuery);
    const { rows } = await db.query<{ id: bigint; name: string }>(
      `SELECT id, handle AS name FROM accounts WHERE id = ANY ($1)
       UNION ALL SELECT id, kind || ':' || name FROM claimants WHERE id = ANY ($1)`,
      [some],
    );
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    for (const id of some) {
      const owner = names.get(id);
      if (owner === undefined) throw new Error(`owner ${id} has a balance but is neither an account nor a claimant`);
      claims.push({ owner, balance: owners.get(id) as bigint });
    }
  }
  return claims;
}
