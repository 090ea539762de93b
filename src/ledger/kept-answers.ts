import type { Queryable, Transaction } from '../kernel/db/database.ts';
import { keyDigest, requestDigest, requestDigests } from './encode-batch.ts';
import type { IdempotencyScope } from './posting.ts';

export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Whose an Idempotency-Key is: no request's yet, another request's, or this one's, with its answer if one was stored.
 */
export type KeyHolder =
  | { readonly holder: 'nobody' }
  | { readonly holder: 'another' }
  | { readonly holder: 'this'; readonly answer: KeptAnswer | undefined };

/** Transfers store their keys in the same table, so a key that paid for a transfer belongs to another request here. */
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
 * Binds the key to this request and its answer, in the commit of the effect. Call it last, as ledger.post does: a
 * transaction that holds accounts may wait for a key, but never the reverse. False when the key is already taken.
 */
export async function keepAnswer(tx: Transaction, scope: IdempotencyScope, answer: KeptAnswer): Promise<boolean> {
  return insertKey(tx, scope, answer);
}

/**
 * Binds the key to this request before there is an answer, for work that takes several commits and knows by itself what
 * it has done. False when the key belongs to another request.
 */
export async function claimKey(db: Queryable, scope: IdempotencyScope): Promise<boolean> {
  return (await insertKey(db, scope, undefined)) || (await findKey(db, scope)).holder === 'this';
}

/** Frees a claimed key after its work has come to nothing. */
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
