import type { Hex } from 'viem';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { isUndone, type OpenStep, readOpenSteps } from './open-steps.ts';
import type { Cursor } from './read-balances.ts';
import { readUncredited, type UncreditedArrival } from './uncredited-arrivals.ts';

/** The ledger's view of one asset on one chain. */
export interface Book {
  readonly chain: ChainId;
  readonly asset: Asset;
  /** What users have, spendable or held, and what is due to claimants. */
  readonly users: bigint;
  /** All claims, the house's included: every account except custody and in flight. */
  readonly owed: bigint;
  /** Taken from its owner and not yet gone, less what is expected to arrive for it. */
  readonly inTransit: bigint;
  /**
   * Credits and payments in blocks after the cursor, and undecided arrivals: positive when we hold more at the cursor
   * than the books say, negative when less.
   */
  readonly ahead: bigint;
}

/** Everything the report needs from the database. Read it at one moment. */
export interface Position {
  readonly at: Date;
  readonly cursors: ReadonlyMap<ChainId, Cursor>;
  readonly books: readonly Book[];
  readonly openSteps: readonly OpenStep[];
  /** Uncredited arrivals: the chain decides which are real. */
  readonly doubted: readonly UncreditedArrival[];
  /**
   * House wallets of all chains, in lower case. Each is asked on every chain: a key has the same address everywhere,
   * and unexpected transfers on another chain are booked there.
   */
  readonly houseAddresses: readonly Hex[];
  /** Users' wallets with unswept deposits, in lower case, by `chain/asset`. */
  readonly unsweptAddresses: ReadonlyMap<`${ChainId}/${Asset}`, readonly Hex[]>;
}

export async function readPosition(tx: Transaction): Promise<Position> {
  return {
    // Truncated to milliseconds, as published.
    at: onlyRow(await tx.query<{ at: Date }>("SELECT date_trunc('milliseconds', now()) AS at")).at,
    cursors: await readCursors(tx),
    books: await readBooks(tx),
    openSteps: await readOpenSteps(tx),
    doubted: await readUncredited(tx),
    houseAddresses: await readHouseAddresses(tx),
    unsweptAddresses: await readUnsweptAddresses(tx),
  };
}

async function readCursors(tx: Queryable): Promise<Map<ChainId, Cursor>> {
  const { rows } = await tx.query<Cursor & { chain: ChainId }>(
    'SELECT chain, block_number, block_hash FROM chain_cursors',
  );
  return new Map(rows.map(({ chain, ...cursor }) => [chain, cursor]));
}

/**
 * SQL: chain, asset and atomic of `Book.ahead`. Deposits are credited before the cursor passes them, and a reorg moves
 * the cursor back: what lies ahead of it is in the ledger, but not on the chain as of that block.
 */
export const aheadOfCursor = `
  SELECT d.chain, d.asset, -d.atomic AS atomic
    FROM chain_cursors c JOIN deposits d ON d.chain = c.chain AND d.block_number > c.block_number
     AND NOT EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id)
  UNION ALL
  SELECT s.chain, l.asset, l.atomic
    FROM chain_cursors c JOIN chain_steps s
      ON s.chain = c.chain AND s.block_number > c.block_number AND s.state = 'confirmed' AND NOT ${isUndone('s')}
    JOIN chain_step_leaves l ON l.step_id = s.id AND NOT l.stays
  UNION ALL
  SELECT u.chain, u.asset, u.atomic
    FROM chain_cursors c JOIN undecided_arrivals u ON u.chain = c.chain AND u.block_number <= c.block_number`;

export async function readBooks(tx: Queryable): Promise<Book[]> {
  const { rows } = await tx.query<Book>(
    `WITH sums AS (
       SELECT (id >> 4) & 15 AS chain, id & 15 AS asset, (id >> 8) & 63 AS kind, sum(balance) AS balance
         FROM ledger.accounts GROUP BY 1, 2, 3
     ), named AS (
       SELECT c.id AS chain, a.symbol AS asset, k.counts_as, s.balance
         FROM sums s JOIN ledger.chains c ON c.code = s.chain JOIN ledger.assets a ON a.code = s.asset
         JOIN ledger.kinds k ON k.code = s.kind
     ), ahead AS (
       ${aheadOfCursor}
     )
     , rows AS (
       SELECT chain, asset, counts_as, balance FROM named
       -- The first arrival on a chain has no account in the ledger yet.
       UNION ALL SELECT chain, asset, 'custody', 0 FROM ahead
     )
     SELECT n.chain, n.asset,
            coalesce(sum(balance) FILTER (WHERE counts_as = 'users'), 0) AS users,
            coalesce(sum(balance) FILTER (WHERE counts_as IN ('users', 'house')), 0) AS owed,
            coalesce(sum(balance) FILTER (WHERE counts_as = 'in_flight'), 0) AS in_transit,
            (SELECT coalesce(sum(atomic), 0) FROM ahead a WHERE a.chain = n.chain AND a.asset = n.asset) AS ahead
       FROM rows n GROUP BY 1, 2`,
  );
  return rows;
}

export async function readHouseAddresses(tx: Queryable): Promise<readonly Hex[]> {
  const { rows } = await tx.query<{ address: Hex }>('SELECT DISTINCT lower(address) AS address FROM house_wallets');
  return rows.map(({ address }) => address);
}

async function readUnsweptAddresses(tx: Queryable): Promise<Position['unsweptAddresses']> {
  const { rows } = await tx.query<{ chain: ChainId; asset: Asset; addresses: Hex[] }>(
    `SELECT chain, asset, array_agg(DISTINCT lower(address)) AS addresses FROM deposits
      WHERE swept_at IS NULL AND account_id IS NOT NULL GROUP BY chain, asset`,
  );
  return new Map(rows.map(({ chain, asset, addresses }) => [`${chain}/${asset}`, addresses]));
}
