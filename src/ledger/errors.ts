import { TryAgain } from '../kernel/db/errors.ts';

/** The posting queue is full. Nothing was written, so the caller may retry. */
export class LedgerBusy extends TryAgain {
  override readonly name = 'LedgerBusy';

  constructor(waiting: number) {
    super(`${waiting} postings are waiting already`);
  }
}

/** The database is unreachable or read-only. Nothing was posted. */
export class LedgerUnavailable extends TryAgain {
  override readonly name = 'LedgerUnavailable';

  constructor(cause: unknown) {
    super('the ledger cannot post at the moment', { cause });
  }
}
