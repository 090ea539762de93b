import type { Database, Transaction } from '../kernel/db/database.ts';
import { tryLockUntilCommit } from '../kernel/db/locks.ts';
import type { Caller, IdempotencyClaim } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { findKey, type KeptAnswer, keepAnswer } from './kept-answers.ts';
import type { IdempotencyScope } from './posting.ts';

interface OnceRequest {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
  /** What it is about, when many of its kind may wait for one row: they then leave room for others. */
  readonly kind?: string;
}

/**
 * Runs the work of a request in one transaction, and when the request carries an Idempotency-Key at most once: the
 * answer is remembered in the same commit, so it is there exactly when the effect is. A refusal (anything thrown) rolls
 * back both, and the same key may succeed later.
 *
 * Keys are one store for all routes, transfers included. Of two requests that use one key for the first time at once, one
 * is done. The lock lasts as long as the transaction: a process that dies lets go of it.
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
      // A transfer asks for no lock, and may have been faster under the same key: then none of this happens.
      if (!(await keepAnswer(tx, scope, answer))) throw httpErrors.idempotency_mismatch();
      return answer;
    }, options);
}

/** Of two requests that use one key for the first time at once the other one is told that this one is running. */
export async function lockKey(tx: Transaction, { accountId, key }: IdempotencyScope): Promise<void> {
  if (!(await tryLockUntilCommit(tx, { kind: 'idempotencyKey', of: `${accountId} ${key}` })))
    throw httpErrors.idempotency_in_progress(undefined, { headers: { 'Retry-After': '1' } });
}

async function findEarlierAnswer(tx: Transaction, scope: IdempotencyScope): Promise<KeptAnswer | undefined> {
  const found = await findKey(tx, scope);
  if (found.holder === 'another') throw httpErrors.idempotency_mismatch();
  if (found.holder === 'nobody') return undefined;
  if (found.answer === undefined) throw new Error('a key of this request has no answer');
  return found.answer;
}
