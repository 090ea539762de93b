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
