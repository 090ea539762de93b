import type { Database, Queryable, Transaction } from '../kernel/db/database.ts';
import { tryLockUntilCommit } from '../kernel/db/locks.ts';
import type { Caller, IdempotencyClaim } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { keyDigest, requestDigest, requestDigests } from './encode-batch.ts';
import type { IdempotencyScope } from './posting.ts';

interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Whose an Idempotency-Key is: no request's yet, another request's, or this one's, with its answer if one was stored.
 */
type KeyHolder =
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

interface OnceRequest {
  readonly caller: Pick<Caller, 'accountId'>;
  readonly idempotency: IdempotencyClaim | undefined;
  /** Set when many requests of this kind may wait for one row: they then leave connections for other requests. */
  readonly kind?: string;
}

/**
 * Runs the work of a request in one transaction, and at most once per Idempotency-Key: the answer is stored in the same
 * commit as the effect. Anything thrown rolls back both, and the same key may succeed later. All routes share one store
 * of keys, transfers included. When two requests use a new key at the same time, one of them is refused. The lock ends
 * with the transaction, even when the process dies.
 */
export type RunOnce = <Answer extends KeptAnswer>(
  request: OnceRequest,
  work: (tx: Transaction) => Promise<Answer>,
) => Promise<Answer>;

export function createOnce(db: Database): RunOnce {
  return <Answer extends KeptAnswer>(
    { caller, idempotency: claim, ...options }: OnceRequest,
    work: (tx: Transaction) => Promise<Answer>,
  ) =>
    db.transaction(async (tx) => {
      if (claim === undefined) return work(tx);
      const scope = { accountId: caller.accountId, ...claim };
      await lockKey(tx, scope);
      const earlier = await findEarlierAnswer(tx, scope);
      if (earlier !== undefined) return { ...earlier, replayed: true } as unknown as Answer;
      const answer = await work(tx);
      // A transfer takes no lock and may have used the key meanwhile; this transaction is then rolled back.
      if (!(await keepAnswer(tx, scope, answer))) throw httpErrors.idempotency_mismatch();
      return answer;
    }, options);
}

/** When two requests use a new key at the same time, the second is told that the first is still running. */
export async function lockKey(tx: Transaction, { accountId, key }: IdempotencyScope): Promise<void> {
  if (!(await tryLockUntilCommit(tx, { kind: 'idempotencyKey', of: `${accountId} ${key}` })))
    throw httpErrors.idempotency_in_progress(undefined, { headers: { 'Retry-After': '1' } });
}

async function findEarlierAnswer(tx: Transaction, scope: IdempotencyScope): Promise<KeptAnswer | undefined> {
  const found = await findKey(tx, scope);
  if (found.holder === 'another') throw httpErrors.idempotency_mismatch();
  if (found.holder === 'nobody') return undefined;
  if (found.answer === undefined) throw new Error('the key of this request has no stored answer');
  return found.answer;
}
