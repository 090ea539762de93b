import type { Transaction } from '../kernel/db/database.ts';
import type { Ledger } from './ledger.ts';
import type { Posting } from './posting.ts';

/** Posts what must not be refused, such as the end of a saga: any other outcome rolls back the caller's transaction. */
export async function postSurely(tx: Transaction, ledger: Ledger, postings: readonly Posting[]): Promise<void> {
  if (postings.length === 0) return;
  const outcomes = await ledger.postWithin(tx, postings);
  for (const [index, { outcome }] of outcomes.entries()) {
    if (outcome !== 'posted') throw new Error(`${postings[index]?.reference} was not posted: ${outcome}`);
  }
}
