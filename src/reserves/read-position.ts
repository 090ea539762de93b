import type { Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import { type Database, longStatements, type Queryable, type Transaction } from '../db/database.ts';
import type { Asset } from '../money/asset.ts';

/** What the ledger says of one asset on one chain. */
export interface Book {
  readonly chain: ChainId;
  readonly asset: Asset;
  /** What users have. */
  readonly users: bigint;
  /** Everything that anybody may claim, the house too: all accounts but custody and what is in transit. */
  readonly owed: bigint;
  /** Taken from its owner and not yet gone, or not yet arrived. */
  readonly inTransit: bigint;
  /** What has been credited or paid out in blocks after the cursor: above zero what we still hold there, below what we do not hold yet. */
  readonly ahead: bigint;
}

export interface Cursor {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

/** A withdrawal that the ledger holds in transit, and the transactions that may have paid it. */
export interface OpenWithdrawal {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly address: Hex;
  readonly net: bigint;
  readonly hashes: readonly Hex[];
}

/** Everything the report needs from the database. Read it at one moment. */
export interface Position {
  readonly at: Date;
  readonly cursors: ReadonlyMap<ChainId, Cursor>;
  readonly books: readonly Book[];
  readonly openWithdrawals: readonly OpenWithdrawal[];
  /** Wallets of ours that may hold something, in lower case: the house's, and users' with deposits that were not swept. */
  readonly addresses: ReadonlyMap<ChainId, ReadonlySet<Hex>>;
}

/** One transaction that sees one moment, however much is posted meanwhile. */
export function atOneMoment<Result>(db: Database, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return work(tx);
  }, longStatements);
}

export async function readPosition(tx: Transaction): Promise<Position> {
  return {
    at: await readTime(tx),
    cursors: await readCursors(tx),
    books: await readBooks(tx),
    openWithdrawals: await readOpenWithdrawals(tx),
    addresses: await readAddresses(tx),
  };
}

/** In milliseconds, which is how times are told outside. */
export async function readTime(tx: Queryable): Promise<Date> {
  const { rows } = await tx.query<{ at: Date }>("SELECT date_trunc('milliseconds', now()) AS at");
  if (rows[0] === undefined) throw new Error('the database does not tell the time');
  return rows[0].at;
}

export async function readCursors(tx: Queryable): Promise<Map<ChainId, Cursor>> {
  const { rows } = await tx.query<{ chain: ChainId; block_number: bigint; block_hash: Hex }>(
    'SELECT chain, block_number, block_hash FROM chain_cursors',
  );
  return new Map(rows.map((row) => [row.chain, { blockNumber: row.block_number, blockHash: row.block_hash }]));
}

/**
 * Deposits are credited before the cursor moves past them, and after a reorganisation it moves back: what lies ahead of it
 * is in the ledger but not yet on the chain as it was at that block.
 */
export async function readBooks(tx: Queryable): Promise<Book[]> {
  const { rows } = await tx.query<Record<'chain' | 'asset' | 'users' | 'owed' | 'in_transit' | 'ahead', string>>(
    `WITH sums AS (
       SELECT (id >> 4) & 15 AS chain, id & 15 AS asset, (id >> 8) & 63 AS kind, sum(balance) AS balance
         FROM ledger.accounts GROUP BY 1, 2, 3
     ), named AS (
       SELECT c.id AS chain, a.symbol AS asset, k.name AS kind, s.balance
         FROM sums s JOIN ledger.chains c ON c.code = s.chain JOIN ledger.assets a ON a.code = s.asset
         JOIN ledger.kinds k ON k.code = s.kind
     ), ahead AS (
       SELECT d.chain, d.asset, -d.atomic AS atomic
         FROM chain_cursors c JOIN deposits d ON d.chain = c.chain AND d.block_number > c.block_number
       UNION ALL
       SELECT w.chain, w.asset, w.net
         FROM chain_cursors c JOIN withdrawals w
           ON w.chain = c.chain AND w.block_number > c.block_number AND w.status = 'complete'
     )
     SELECT n.chain, n.asset,
            coalesce(sum(balance) FILTER (WHERE kind = 'available'), 0) AS users,
            coalesce(sum(balance) FILTER (WHERE kind <> 'custody' AND kind NOT LIKE '%\\_in\\_transit'), 0) AS owed,
            coalesce(sum(balance) FILTER (WHERE kind LIKE '%\\_in\\_transit'), 0) AS in_transit,
            (SELECT coalesce(sum(atomic), 0) FROM ahead a WHERE a.chain = n.chain AND a.asset = n.asset) AS ahead
       FROM named n GROUP BY 1, 2`,
  );
  return rows.map(({ chain, asset, users, owed, in_transit, ahead }) => ({
    chain: chain as ChainId,
    asset: asset as Asset,
    users: BigInt(users),
    owed: BigInt(owed),
    inTransit: BigInt(in_transit),
    ahead: BigInt(ahead),
  }));
}

/** A transaction of our own keys has a hash for each time it was signed; elsewhere the provider tells the one it has. */
async function readOpenWithdrawals(tx: Queryable): Promise<OpenWithdrawal[]> {
  const { rows } = await tx.query<Omit<OpenWithdrawal, 'net'> & { net: string }>(
    `SELECT w.chain, w.asset, lower(w.address) AS address, w.net,
            ARRAY(SELECT hash FROM key_transaction_attempts a WHERE a.transaction_id = w.idempotency_key
                  UNION SELECT w.tx_hash WHERE w.tx_hash IS NOT NULL) AS hashes
       FROM withdrawals w WHERE w.finished_at IS NULL`,
  );
  return rows.map((row) => ({ ...row, net: BigInt(row.net) }));
}

async function readAddresses(tx: Queryable): Promise<Map<ChainId, Set<Hex>>> {
  const { rows } = await tx.query<{ chain: ChainId; address: Hex }>(
    `SELECT chain, lower(address) AS address FROM house_wallets
     UNION SELECT chain, lower(address) FROM deposits WHERE swept_at IS NULL`,
  );
  const addresses = new Map<ChainId, Set<Hex>>();
  for (const { chain, address } of rows) {
    const known = addresses.get(chain) ?? new Set();
    addresses.set(chain, known.add(address));
  }
  return addresses;
}
