import { z } from 'zod';
import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import { deleteInChunks } from '../db/delete-in-chunks.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';

const job = defineJob({ name: 'forget-daily-counts', payload: z.unknown(), maxAttempts: 1 });

export function forgetCountsSchedule(db: Queryable): Schedule {
  return { at: '37 * * * *', handler: handleJob(job, () => forgetOldDays(db)) };
}

const today = "(now() AT TIME ZONE 'UTC')::date";

interface Taking {
  readonly scope: string;
  readonly limit: number;
  readonly places?: number;
}

/**
 * Adds `places` to today's count of a scope, across all instances, and returns the new count. Returns undefined, and
 * adds nothing, when that would exceed the limit. A second transaction on the same scope waits for the commit.
 * The table is called message_counts because messages were the first to be counted.
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

export async function takenToday(db: Queryable, scope: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count FROM message_counts WHERE day = ${today} AND scope = $1`,
    [scope],
  );
  return rows[0]?.count ?? 0;
}

/** Uses the database's clock, because the database decides which day it is. */
export async function secondsLeftToday(db: Queryable): Promise<number> {
  const { seconds } = onlyRow(
    await db.query<{ seconds: number }>(
      `SELECT ceil(extract(epoch FROM (${today} + 1)::timestamp - now() AT TIME ZONE 'UTC'))::integer AS seconds`,
    ),
  );
  return Math.max(1, seconds);
}

/** Yesterday's counts stay: a transaction that began before midnight may still read them. */
export async function forgetOldDays(db: Queryable): Promise<void> {
  await deleteInChunks(db, { table: 'message_counts', where: `day < ${today} - 1` });
}
