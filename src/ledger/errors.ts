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
