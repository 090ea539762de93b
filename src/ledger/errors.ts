/** Too many postings wait already. Nothing of this one was written: try again after a moment. */
export class LedgerBusy extends Error {
  override readonly name = 'LedgerBusy';
  readonly retryAfterSeconds = 1;

  constructor(waiting: number) {
    super(`${waiting} postings are waiting already`);
  }
}

/** The database cannot be reached or cannot write. Nothing was posted. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
  readonly retryAfterSeconds = 1;

  constructor(cause: unknown) {
    super('the ledger cannot post at the moment', { cause });
  }
}

/**
 * The connection was lost while the posting was under way, so it is committed or it is not, and nobody here can say.
 * The same request with the same Idempotency-Key tells: it is answered with the first result or posted now.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly retryAfterSeconds = 1;

  constructor(cause: unknown) {
    super('the connection was lost while posting; retry with the same Idempotency-Key', { cause });
  }
}
