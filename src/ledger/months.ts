import pg from 'pg';
import { isUnavailable, onlyRow, type Queryable } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';

/**
 * Opens the months that are missing up to the end of the next one, as the role that owns the tables. A database that is
 * busy does not keep the service from starting: usually the month has been open for weeks.
 */
export async function openMonths(db: Queryable, logger: Logger): Promise<number> {
  try {
    const { opened } = onlyRow(await db.query<{ opened: number }>('SELECT ledger.open_months() AS opened'));
    if (opened > 0) logger.info({ opened }, 'months of the ledger were opened');
    return opened;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    logger.warn({ err: error }, 'the next month of the ledger could not be opened yet');
    return 0;
  }
}

/** Whether a posting was refused because no month is open for its time. Nothing was posted. */
export function lacksMonth(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23514' && error.routine === 'ExecFindPartition';
}

export const lacksMonthAdvice =
  'no month of the ledger is open at this time, so nothing can be posted: check the clock of the database, and that the job open-ledger-months runs';

export interface OpenMonth {
  readonly name: string;
  /** Undefined for the first month, which begins with the ledger. */
  readonly from: string | null;
  readonly to: string;
  /** From the statistics of PostgreSQL, which may be late. Null when there are none yet. */
  readonly aboutPostings: bigint | null;
  readonly bytes: bigint;
}

export interface ArchivedMonth {
  readonly name: string;
  readonly from: string | null;
  readonly to: string;
  readonly postings: bigint;
  readonly entries: bigint;
  /** The SHA-256 of the file. */
  readonly digest: string;
  readonly archivedAt: string;
}

/** SQL: a time with microseconds, in which the order of texts is the order of times. */
export function timeText(column: string): string {
  return `CASE WHEN isfinite(${column}) THEN to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END`;
}

/** Oldest first. */
export async function listMonths(db: Queryable): Promise<readonly OpenMonth[]> {
  const { rows } = await db.query<OpenMonth>(
    `SELECT m.name, ${timeText('m.from_at')} AS from, ${timeText('m.to_at')} AS to,
            nullif(p.reltuples, -1)::bigint AS about_postings,
            pg_total_relation_size(p.oid) + pg_total_relation_size(e.oid) AS bytes
       FROM ledger.months m
       JOIN pg_class p ON p.oid = to_regclass(format('ledger.%I', 'postings_' || m.name))
       JOIN pg_class e ON e.oid = to_regclass(format('ledger.%I', 'entry_rows_' || m.name))
      ORDER BY m.from_at`,
  );
  return rows;
}

/** Oldest first. */
export async function listArchives(db: Queryable): Promise<readonly ArchivedMonth[]> {
  const { rows } = await db.query<ArchivedMonth>(
    `SELECT name, ${timeText('from_at')} AS from, ${timeText('to_at')} AS to, postings, entries, digest,
            ${timeText('archived_at')} AS archived_at
       FROM ledger.archives ORDER BY from_at`,
  );
  return rows;
}
