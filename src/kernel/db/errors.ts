import pg from 'pg';

/** Idle or transaction timeout: PostgreSQL has rolled the transaction back. */
const endedTransaction = new Set(['25P03', '25P04']);

/** A shutdown, a crash or a terminated session, possibly after the statement took effect. */
const endedSession = /^(57P0|08)/;

/**
 * Whether PostgreSQL itself rejected the statement, so that it certainly had no effect. The severity is localized, so
 * the code is checked as well.
 */
export function wasRejected(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code = '', severity } = error;
  if (endedTransaction.has(code)) return true;
  return !endedSession.test(code) && severity !== 'FATAL' && severity !== 'PANIC';
}

/** No response arrived: the connection is unusable, even for a rollback. */
export function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A failover is under way: every host that answers only reads. */
export class NoWritableHost extends Error {
  override readonly name = 'NoWritableHost';

  constructor() {
    super('none of the hosts of the database accepts writes now');
  }
}

/** A dependency is busy or unreachable. Nothing was written, so the caller may retry after a moment. */
export class TryAgain extends Error {
  readonly retryAfterSeconds = 1;
}

/**
 * The connection was lost during COMMIT, so the transaction may or may not be committed. A retry with the same
 * Idempotency-Key returns the first result or runs the request now.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly retryAfterSeconds = 1;

  constructor(cause: unknown) {
    super('the connection was lost while writing; retry with the same Idempotency-Key', { cause });
  }
}
