import type { Queryable } from '../kernel/db/database.ts';
import { keyDigest, requestDigests } from './encode-batch.ts';
import { asEarlier, type EarlierPosting } from './post-batch.ts';
import type { IdempotencyScope, Outcome } from './posting.ts';

/**
 * What a request under this Idempotency-Key has done already, if anything. For a feature that is about to refuse a request
 * before it reaches the ledger: the world may have changed since the first time, and what was done then stays done.
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
