import type { Queryable } from '../db/database.ts';

/** So many at a time that none of the deletions holds anybody up. */
const chunk = 20_000;

/** Postings stay; only what ties them to an Idempotency-Key goes. Returns how many keys were forgotten. */
export async function forgetKeysBefore(db: Queryable, before: Date): Promise<number> {
  for (let forgotten = 0; ; ) {
    const { rowCount } = await db.query(
      `DELETE FROM ledger.idempotency_keys WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ledger.idempotency_keys WHERE posted_at < $1 LIMIT $2))`,
      [before, chunk],
    );
    forgotten += rowCount ?? 0;
    if ((rowCount ?? 0) < chunk) return forgotten;
  }
}
