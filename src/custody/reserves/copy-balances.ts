import type pg from 'pg';
import type { Database } from '../../kernel/db/database.ts';

/** What stands in one account of the ledger. */
interface BalanceRow {
  readonly id: bigint;
  readonly balance: string;
}

/** How a balance counts in the reserves, as ledger.kinds says. */
type CountsAs = 'users' | 'house' | 'in_flight' | 'custody';

/** The ledger at one moment. Names come from its tables, so that what a newer release has added has one here too. */
export interface LedgerCopy {
  /** In milliseconds, which is how times are told outside. */
  readonly at: Date;
  /** How far each chain had been read. */
  readonly blockNumbers: ReadonlyMap<string, bigint>;
  readonly chains: ReadonlyMap<number, string>;
  readonly assets: ReadonlyMap<number, string>;
  readonly kinds: ReadonlyMap<number, CountsAs>;
  /** Every balance that is not zero, a few thousand at a time. */
  balances(): AsyncGenerator<readonly BalanceRow[]>;
}

/** Rows that are fetched at once, so that a million accounts are never a million rows in memory. */
const rowsPerFetch = 5_000;

/**
 * Old versions of a row cannot be cleared away while any transaction might still want to see them, and every posting to a
 * busy account then has to step over all of them: a transaction that reads for seconds slows down all payments. So the
 * database copies the balances aside (WITH HOLD) at the COMMIT, in one message that waits for nobody here, and they are
 * read from the copy, however long that takes, with no transaction open.
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

/** Copies every balance at one moment and lets the work read the copy, which is gone afterwards. */
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
    // The copy belongs to the connection, and goes with it.
    client.release(true);
    throw error;
  }
}
