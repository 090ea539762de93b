import type { Queryable } from '../kernel/db/database.ts';

/** So many at a time that none of the deletions holds anybody up. */
const chunk = 20_000;

/**
 * Forgets Idempotency-Keys that are older than this, by the clock of the database, which is the one that wrote their time:
 * a process whose own clock is days ahead must not free a key that has just paid. Postings stay; only what ties them to a
 * key goes. Returns how many keys were forgotten.
 */
export async function forgetKeysOlderThan(db: Queryable, ageMs: number): Promise<number> {
  for (let forgotten = 0; ; ) {
    const { rowCount } = await db.query(
      `DELETE FROM ledger.idempotency_keys WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ledger.idempotency_keys
          WHERE posted_at < now() - make_interval(secs => $1::float8 / 1000) LIMIT $2))`,
      [ageMs, chunk],
    );
    forgotten += rowCount ?? 0;
    if ((rowCount ?? 0) < chunk) return forgotten;
  }
}
