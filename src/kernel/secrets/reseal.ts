import type { Database, Queryable } from '../db/database.ts';
import { Refusal } from '../refusal.ts';
import type { SealedColumn } from './sealed.ts';
import type { SealPurpose, Secrets } from './secrets.ts';

/** Rows per read. Each row is updated on its own, so no locks pile up. */
const pageSize = 500;

export interface Resealing {
  readonly db: Database;
  readonly purpose: SealPurpose;
  readonly old: Secrets;
  readonly fresh: Secrets;
}

/**
 * Reseals what only the old secret opens, row by row in key order, and returns how many rows changed. It skips rows
 * that the new secret opens, so it may be interrupted and run again at any time.
 */
export async function resealColumn(resealing: Resealing, place: SealedColumn): Promise<number> {
  let resealed = 0;
  for (let after: Row | undefined; ; ) {
    const rows = await readPage(resealing.db, place, after);
    for (const row of rows) if (await resealRow(resealing, place, row)) resealed++;
    after = rows.at(-1);
    if (rows.length < pageSize) return resealed;
  }
}

interface Row {
  readonly sealed: Buffer;
  /** As text, whatever its type. */
  readonly key: readonly string[];
}

async function readPage(db: Queryable, { table, key, column }: SealedColumn, after: Row | undefined): Promise<Row[]> {
  const keys = key.join(', ');
  const beyond = `(${keys}) > (${key.map((_, index) => `$${index + 1}`).join(', ')})`;
  const { rows } = await db.query<Row>(
    `SELECT ${column} AS sealed, ARRAY[${key.map((part) => `${part}::text`).join(', ')}] AS key FROM ${table}
      WHERE ${column} IS NOT NULL ${after === undefined ? '' : `AND ${beyond}`} ORDER BY ${keys} LIMIT ${pageSize}`,
    after?.key ?? [],
  );
  return rows;
}

/** Updates only if the value is unchanged: a concurrent change has already sealed it with the new secret. */
async function resealRow({ db, purpose, old, fresh }: Resealing, place: SealedColumn, row: Row): Promise<boolean> {
  const { table, key, column } = place;
  if (tryOpen(fresh, purpose, row.sealed) !== undefined) return false;
  const text = tryOpen(old, purpose, row.sealed);
  if (text === undefined) {
    throw new Refusal(
      `Neither secret opens ${table}.${column} of ${row.key.join(' ')}: it was sealed with a different secret.`,
    );
  }
  const isIt = key.map((part, index) => `${part} = $${index + 3}`).join(' AND ');
  await db.query(`UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${isIt}`, [
    fresh.seal(purpose, text),
    row.sealed,
    ...row.key,
  ]);
  return true;
}

function tryOpen(secrets: Secrets, purpose: SealPurpose, sealed: Buffer): string | undefined {
  try {
    return secrets.open(purpose, sealed);
  } catch {
    return undefined;
  }
}
