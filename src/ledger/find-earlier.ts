import type { Queryable } from '../kernel/db/database.ts';
import { keyDigest, requestDigests } from './encode-batch.ts';
import { asEarlier, type EarlierPosting } from './post-batch.ts';
import type { IdempotencyScope, Outcome } from './posting.ts';

/**
 * The earlier result under this Idempotency-Key, if any. A feature asks before it refuses a request by itself:
 * conditions may have changed since the first attempt, but its result stays.
 */
export async function findEarlier(db: Queryable, scope: IdempotencyScope): Promise<Outcome | undefined> {
  const { rows } = await db.query<{ same: boolean; earlier: EarlierPosting }>(
    `SELECT request_digest = ANY ($2::uuid[]) AS same, ledger.describe(1, posting_id) AS earlier
       FROM ledger.idempotency_keys WHERE digest = $1`,
    [keyDigest(scope), requestDigests(scope)],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  return row.same ? { outcome: 'duplicate', posting: asEarlier(row.earlier) } : { outcome: 'mismatch' };
}
