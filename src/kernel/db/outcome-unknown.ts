/**
 * The connection was lost while a commit was under way, so it is committed or it is not, and nobody here can say.
 * The same request with the same Idempotency-Key tells: it is answered with the first result or done now.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly retryAfterSeconds = 1;

  constructor(cause: unknown) {
    super('the connection was lost while writing; retry with the same Idempotency-Key', { cause });
  }
}
