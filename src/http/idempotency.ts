import type { Database, Transaction } from '../db/database.ts';
import type { Caller, IdempotencyClaim } from './define-route.ts';
import { httpErrors } from './errors.ts';

interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface OnceRequest {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
}

/**
 * Runs the work of a request in one transaction, and when the request carries an Idempotency-Key at most once: the
 * answer is remembered in the same commit, so it is there exactly when the effect is. A refusal (anything thrown) rolls
 * back both, and the same key may succeed later.
 *
 * The lock lasts as long as the transaction: a process that dies lets go of it.
 */
export type Once = <Answer extends StoredAnswer>(
  request: OnceRequest,
  work: (tx: Transaction) => Promise<Answer>,
) => Promise<Answer>;

export function createOnce(db: Database): Once {
  return <Answer extends StoredAnswer>(
    { caller, idempotency: claim }: OnceRequest,
    work: (tx: Transaction) => Promise<Answer>,
  ) =>
    db.transaction(async (tx) => {
      if (claim === undefined) return work(tx);
      await lockClaim(tx, caller, claim);
      const earlier = await findAnswer(tx, caller, claim);
      if (earlier !== undefined) return { ...earlier, replayed: true } as unknown as Answer;
      // Taken now, as the answer's row will need it: work that ends by posting must not wait for it then.
      await tx.query('SELECT FROM accounts WHERE id = $1 FOR KEY SHARE', [caller.accountId]);
      const answer = await work(tx);
      await tx.query(
        'INSERT INTO idempotency_keys (account_id, key, request_hash, status, answer) VALUES ($1, $2, $3, $4, $5)',
        [caller.accountId, claim.key, claim.requestHash, answer.status, JSON.stringify(answer.body)],
      );
      return answer;
    });
}

async function lockClaim(tx: Transaction, { accountId }: Caller, { key }: IdempotencyClaim): Promise<void> {
  const { rows } = await tx.query<{ locked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked',
    [`idempotency ${accountId} ${key}`],
  );
  if (rows[0]?.locked !== true)
    throw httpErrors.idempotency_in_progress(undefined, { headers: { 'Retry-After': '1' } });
}

async function findAnswer(
  tx: Transaction,
  { accountId }: Caller,
  { key, requestHash }: IdempotencyClaim,
): Promise<StoredAnswer | undefined> {
  const { rows } = await tx.query<{ request_hash: Buffer; status: number; answer: unknown }>(
    'SELECT request_hash, status, answer FROM idempotency_keys WHERE account_id = $1 AND key = $2',
    [accountId, key],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  if (!row.request_hash.equals(requestHash)) throw httpErrors.idempotency_mismatch();
  return { status: row.status, body: row.answer };
}
