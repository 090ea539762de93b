import type { Queryable } from '../db/database.ts';

/** Postings stay; only what ties them to an Idempotency-Key goes. Returns how many keys were forgotten. */
export async function forgetKeysBefore(db: Queryable, before: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM ledger.idempotency_keys WHERE posted_at < $1', [before]);
  return rowCount ?? 0;
}
