import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { inTransaction } from './connection-settings.ts';

/** Rows that the code defines and whose meaning never changes. A newer release may add more. */
export interface FixedRows {
  readonly table: string;
  /** The first column is the key. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

type Session = Pick<pg.ClientBase, 'query'>;
type Row = readonly string[];

/** Adds missing rows in one transaction. Throws if the database gives one of them another meaning. */
export async function addFixedRows(session: Session, tables: readonly FixedRows[]): Promise<void> {
  await inTransaction(session, async () => {
    for (const given of tables) await addTo(session, given);
  });
}

async function addTo(session: Session, given: FixedRows): Promise<void> {
  const missing = await findMissing(session, given);
  if (missing.length === 0) return;
  const values = missing.map((_, row) => `(${given.columns.map((_, at) => placeholder(given, row, at)).join(', ')})`);
  // Another instance may add the same rows at the same time.
  await session.query(
    `INSERT INTO ${given.table} (${given.columns.join(', ')}) VALUES ${values.join(', ')} ON CONFLICT DO NOTHING`,
    missing.flat(),
  );
  await requireFixedRows(session, [given]);
}

function placeholder({ columns }: FixedRows, row: number, at: number): string {
  return `$${row * columns.length + at + 1}`;
}

/** For a role that may only read the tables. */
export async function requireFixedRows(session: Session, tables: readonly FixedRows[]): Promise<void> {
  for (const given of tables) {
    const [missing] = await findMissing(session, given);
    if (missing !== undefined) {
      throw new Refusal(
        `The database lacks ${describe(given, missing)} in ${given.table}: run "paywright migrate" with a role that may write there.`,
      );
    }
  }
}

async function findMissing(session: Session, given: FixedRows): Promise<readonly Row[]> {
  const { columns, table } = given;
  const { rows: found } = await session.query<Record<string, string>>(
    `SELECT ${columns.map((column) => `${column}::text`).join(', ')} FROM ${table}`,
  );
  const known = found.map((row): Row => columns.map((column) => row[column] ?? ''));
  return given.rows.map((row): Row => row.map(String)).filter((row) => !isKnown(given, known, row));
}

/** If the database has the key or the name of a row, the whole row must match. */
function isKnown(given: FixedRows, known: readonly Row[], row: Row): boolean {
  const other = known.find((each) => each[0] === row[0] || each[1] === row[1]);
  if (other === undefined) return false;
  if (other.every((value, at) => value === row[at])) return true;
  throw new Refusal(
    `${given.table} has ${describe(given, other)} in this database, but this release has ${describe(given, row)}. Such rows never change: use the release that created the database, or give the new entry its own ${given.columns[0]}.`,
  );
}

function describe({ columns }: FixedRows, row: Row): string {
  return columns.map((column, at) => `${column} ${row[at]}`).join(', ');
}
