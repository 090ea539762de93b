import { TryAgain } from '../kernel/db/try-again.ts';

/** Too many postings wait already. Nothing of this one was written: try again after a moment. */
export class LedgerBusy extends TryAgain {
  override readonly name = 'LedgerBusy';

  constructor(waiting: number) {
    super(`${waiting} postings are waiting already`);
  }
}

/** The database cannot be reached or cannot write. Nothing was posted. */
export class LedgerUnavailable extends TryAgain {
  override readonly name = 'LedgerUnavailable';

  constructor(cause: unknown) {
    super('the ledger cannot post at the moment', { cause });
  }
}
