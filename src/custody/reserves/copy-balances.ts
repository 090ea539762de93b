import type pg from 'pg';
import type { Database } from '../../kernel/db/database.ts';

interface BalanceRow {
  readonly id: bigint;
  readonly balance: bigint;
}

/** As ledger.kinds says. */
type CountsAs = 'users' | 'house' | 'in_flight' | 'custody';

/** The ledger at one moment. Names come from its tables, so that additions of a newer release have one, too. */
export interface LedgerCopy {
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
