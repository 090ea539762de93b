import type pg from 'pg';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { Claim } from './build-tree.ts';

interface BalanceRow {
  readonly id: bigint;
  readonly balance: bigint;
}

/** As ledger.kinds says. */
type CountsAs = 'users' | 'house' | 'in_flight' | 'custody';

/** The ledger at one moment. Names come from its tables, so that additions of a newer release have one, too. */
interface LedgerCopy {
  /** Truncated to milliseconds, as published. */
  readonly at: Date;
  /** How far each chain had been read. */
  readonly blockNumbers: ReadonlyMap<string, bigint>;
  readonly chains: ReadonlyMap<number, string>;
  readonly assets: ReadonlyMap<number, string>;
  readonly kinds: ReadonlyMap<number, CountsAs>;
  /** Every non-zero balance, in chunks. */
  balances(): AsyncGenerator<readonly BalanceRow[]>;
}

/** Keeps a million accounts from being a million rows in memory. */
const rowsPerFetch = 5_000;

/**
 * PostgreSQL cannot vacuum row versions that an open transaction might still see, and every posting to a busy account
 * then has to skip them: a transaction that reads for seconds slows down all payments. So a cursor WITH HOLD copies the
 * balances at the COMMIT, in a single message without a round trip, and the copy is read with no transaction open,
 * however long that takes.
 */
const copyAtOneMoment = `
  BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  DECLARE balances NO SCROLL CURSOR WITH HOLD FOR SELECT id, balance FROM ledger.accounts WHERE balance <> 0;
  SELECT date_trunc('milliseconds', now()) AS at;
  SELECT chain, block_number FROM chain_cursors;
  SELECT code, id FROM ledger.chains;
  SELECT code, symbol FROM ledger.assets;
  SELECT code, counts_as FROM ledger.kinds;
  COMMIT`;

/** Copies every balance at one moment and passes the copy to the work. The copy is dropped afterwards. */
export async function withLedgerCopy<Result>(
  db: Database,
  work: (copy: LedgerCopy) => Promise<Result>,
): Promise<Result> {
  const client = await db.pool.connect();
  try {
    const copied = (await client.query(copyAtOneMoment)) as unknown as pg.QueryResult[];
    const [at, cursors, chains, assets, kinds] = copied.slice(2, 7).map(({ rows }) => rows);
    const byCode = <Name>(rows: readonly Record<string, unknown>[] = [], column: string) =>
      new Map(rows.map((row) => [Number(row.code), row[column] as Name]));
    const result = await work({
      at: at?.[0].at,
      blockNumbers: new Map(cursors?.map((row) => [row.chain, row.block_number])),
      chains: byCode(chains, 'id'),
      assets: byCode(assets, 'symbol'),
      kinds: byCode(kinds, 'counts_as'),
      async *balances() {
        for (;;) {
          const { rows } = await client.query<BalanceRow>(`FETCH ${rowsPerFetch} FROM balances`);
          if (rows.length === 0) return;
          yield rows;
        }
      },
    });
    await client.query('CLOSE balances');
    client.release();
    return result;
  } catch (error) {
    // The copy belongs to the connection and ends with it.
    client.release(true);
    throw error;
  }
}

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
