import type { Queryable } from './database.ts';

interface Deletion {
  readonly table: string;
  /** SQL that is true of the rows to delete. It names no value of a request. */
  readonly where: string;
  /** How many rows one statement deletes. 5,000 if not given. */
  readonly atOnce?: number;
}

/**
 * Deletes all rows that match, in statements that each stay far below the time limit of a statement and hold few locks. One large
 * statement could exceed the limit on a full table, and would then fail every time: the table would never be cleaned again.
 */
export async function deleteInChunks(db: Queryable, { table, where, atOnce = 5_000 }: Deletion): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT ${atOnce})) AND ${where}`,
    );
    if ((rowCount ?? 0) < atOnce) return;
  }
}
