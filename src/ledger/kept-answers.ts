import type { Queryable, Transaction } from '../kernel/db/database.ts';
import { keyDigest, requestDigest, requestDigests } from './encode-batch.ts';
import type { IdempotencyScope } from './posting.ts';

/** What a request was answered with the first time. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Who an Idempotency-Key belongs to: nobody yet, another request, or this one, with its answer if one was kept. */
export type KeyHolder =
  | { readonly holder: 'nobody' }
  | { readonly holder: 'another' }
  | { readonly holder: 'this'; readonly answer: KeptAnswer | undefined };

/** Transfers keep theirs in the same table, so a key that has paid one is another's here. */
export async function findKey(db: Queryable, scope: IdempotencyScope): Promise<KeyHolder> {
  const { rows } = await db.query<{ same: boolean; status: number | null; answer: unknown }>(
    'SELECT request_digest = ANY ($2::uuid[]) AS same, status, answer FROM ledger.idempotency_keys WHERE digest = $1',
    [keyDigest(scope), requestDigests(scope)],
  );
  const [row] = rows;
  if (row === undefined) return { holder: 'nobody' };
  if (!row.same) return { holder: 'another' };
  return { holder: 'this', answer: row.status === null ? undefined : { status: row.status, body: row.answer } };
}

/**
 * Binds the key to this request and its answer, in the commit of what was done. Call it last, as ledger.post does: whoever
 * holds accounts may wait for a key, and never the other way round. False when the key is somebody's already.
 */
export async function keepAnswer(tx: Transaction, scope: IdempotencyScope, answer: KeptAnswer): Promise<boolean> {
  return insertKey(tx, scope, answer);
}

/**
 * Binds the key to this request before it has an answer: for work that is not one commit, and that can tell by itself what
 * it has done already. False when the key is another request's.
 */
export async function claimKey(db: Queryable, scope: IdempotencyScope): Promise<boolean> {
  return (await insertKey(db, scope, undefined)) || (await findKey(db, scope)).holder === 'this';
}

/** What the key was claimed for has come to nothing: it is nobody's again. */
export async function releaseKey(tx: Transaction, digest: string): Promise<void> {
  await tx.query('DELETE FROM ledger.idempotency_keys WHERE digest = $1', [digest]);
}

async function insertKey(db: Queryable, scope: IdempotencyScope, answer: KeptAnswer | undefined): Promise<boolean> {
  const { rowCount } = await db.query(
    `INSERT INTO ledger.idempotency_keys (digest, request_digest, posted_at, status, answer)
     VALUES ($1, $2, clock_timestamp(), $3, $4) ON CONFLICT (digest) DO NOTHING`,
    [keyDigest(scope), requestDigest(scope), answer?.status ?? null, answer && JSON.stringify(answer.body)],
  );
  return rowCount === 1;
}
