import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import { deleteInChunks } from '../db/delete-in-chunks.ts';

const today = "(now() AT TIME ZONE 'UTC')::date";

interface Taking {
  /** What is counted together. */
  readonly scope: string;
  readonly limit: number;
  /** One, when left out. */
  readonly places?: number;
}

/**
 * Takes places of today's limit, in the caller's commit and over all instances, and answers how many are taken now. Undefined when so
 * many are not left, and then none is taken. A second transaction on the same scope waits for the commit.
 *
 * The table has its name from what was counted first.
 */
export async function takeToday(tx: Transaction, { scope, limit, places = 1 }: Taking): Promise<number | undefined> {
  const { rows } = await tx.query<{ count: number }>(
    `INSERT INTO message_counts AS c (day, scope, count) SELECT ${today}, $1, $3::integer WHERE $3::integer <= $2::integer
     ON CONFLICT (day, scope) DO UPDATE SET count = c.count + $3::integer WHERE c.count + $3::integer <= $2::integer
     RETURNING count`,
    [scope, limit, places],
  );
  return rows[0]?.count;
}

/** How many are taken, as far as others have committed. */
export async function takenToday(db: Queryable, scope: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count FROM message_counts WHERE day = ${today} AND scope = $1`,
    [scope],
  );
  return rows[0]?.count ?? 0;
}

/** Until the day is over, by the clock of the database, which is the one that counts. */
export async function secondsLeftToday(db: Queryable): Promise<number> {
  const { seconds } = onlyRow(
    await db.query<{ seconds: number }>(
      `SELECT ceil(extract(epoch FROM (${today} + 1)::timestamp - now() AT TIME ZONE 'UTC'))::integer AS seconds`,
    ),
  );
  return Math.max(1, seconds);
}

/** Yesterday stays: a transaction that began before midnight may still look at it. */
export async function forgetOldDays(db: Queryable): Promise<void> {
  await deleteInChunks(db, { table: 'message_counts', where: `day < ${today} - 1` });
}
