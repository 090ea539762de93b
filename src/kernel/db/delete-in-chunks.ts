import type { Queryable } from './database.ts';

interface Deletion {
  readonly table: string;
  /** A SQL condition. It must not contain values from a request. */
  readonly where: string;
  /** Rows per statement. Defaults to 5,000. */
  readonly atOnce?: number;
}

/**
 * Deletes matching rows in short statements that hold few locks. One large DELETE on a full table could hit the
 * statement timeout every time, and the table would never be cleaned.
 */
export async function deleteInChunks(db: Queryable, { table, where, atOnce = 5_000 }: Deletion): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT ${atOnce})) AND ${where}`,
    );
    if ((rowCount ?? 0) < atOnce) return;
  }
}
