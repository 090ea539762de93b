import type { Database, Transaction } from '../kernel/db/database.ts';
import { tryLockUntilCommit } from '../kernel/db/locks.ts';
import type { Caller, IdempotencyClaim } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { findKey, type KeptAnswer, keepAnswer } from './kept-answers.ts';
import type { IdempotencyScope } from './posting.ts';

interface OnceRequest {
  readonly caller: Caller;
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
export type Once = <Answer extends KeptAnswer>(
  request: OnceRequest,
  work: (tx: Transaction) => Promise<Answer>,
) => Promise<Answer>;

export function createOnce(db: Database): Once {
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
