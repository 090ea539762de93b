import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';

/** Bounds one commit, which takes about 50 milliseconds. */
const recordsPerCommit = 500;
/** The proof of a record contains the hashes of those that follow it under the same root. */
const mostUnsealed = 5_000;

/** Chains the oldest waiting records, each after the last one of its account (migration 031). One process at a time does it. */
export async function chainWaiting(tx: Transaction): Promise<Chained> {
  await lockUntilCommit(tx, 'decisions');
  const { chained, longest } = onlyRow(
    await tx.query<{ chained: bigint; longest: bigint }>('SELECT chained, longest FROM chain_decisions($1)', [
      recordsPerCommit,
    ]),
  );
  return { hasMore: chained === BigInt(recordsPerCommit), isLong: longest >= mostUnsealed };
}

export interface Chained {
  /** More may be waiting. */
  readonly hasMore: boolean;
  /** So many records of one account are not covered by a signed root that their proofs would get too long. */
  readonly isLong: boolean;
}
