import { type Database, onlyRow, type Transaction } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { type BatchLimits, type BatchReport, createBatcher } from './batcher.ts';
import { LedgerUnavailable } from './errors.ts';
import { findEarlier } from './find-earlier.ts';
import { createKnownAccounts } from './known-accounts.ts';
import { type PostRow, postBatch, postSql } from './post-batch.ts';
import { assertSound, type Outcome, type Posting } from './posting.ts';

/** The one door through which money moves. */
export interface Ledger {
  /**
   * Posts together with whatever else is waiting, in a commit of its own. Throws LedgerBusy, LedgerUnavailable (nothing
   * was posted) or OutcomeUnknown (perhaps it was).
   */
  post(posting: Posting): Promise<Outcome>;
  /**
   * Posts within a feature's own transaction, beside its rows. Call it once, as the last statement: from here to the
   * commit the accounts are held. What was refused is not written; whether to go on is the caller's to decide.
   */
  postWithin(tx: Transaction, postings: readonly Posting[]): Promise<readonly Outcome[]>;
  /** Takes no more, and returns when everything that was taken has been answered. */
  stop(): Promise<void>;
}

/**
 * For the connections that batches are posted on. They outlast whoever holds an account and has fallen silent, whom the
 * database ends before; and a statement ends before those who wait for it give up.
 */
export const postingLimits = { statementMs: 12_000, lockMs: 12_000 } as const;

export interface LedgerOptions {
  /** Best one of its own, with as many connections as batches in flight, so that no slow query keeps postings waiting. */
  readonly db: Database;
  readonly logger: Logger;
  readonly limits?: Partial<BatchLimits>;
  /** Told of every batch. */
  readonly onBatch?: ((report: BatchReport) => void) | undefined;
}

export function createLedger({ db, logger, limits, onBatch }: LedgerOptions): Ledger {
  const known = createKnownAccounts();
  const batcher = createBatcher({ pool: db.pool, logger, known, onBatch, ...(limits === undefined ? {} : { limits }) });

  return {
    post(posting) {
      assertSound(posting);
      const { idempotency } = posting;
      const posted = batcher.post(posting);
      if (idempotency?.formerHashes === undefined) return posted;
      // The same request may have been kept under a hash of before. Only who is told otherwise asks, which is hardly anybody.
      return posted.then(async (outcome) =>
        outcome.outcome === 'mismatch' ? ((await findEarlier(db, idempotency)) ?? outcome) : outcome,
      );
    },
    async postWithin(tx, postings) {
      postings.forEach(assertSound);
      const run = async (values: (string | null)[]) => onlyRow(await tx.query<PostRow>(postSql, values));
      const { outcomes } = await postBatch(run, postings, known.has);
      return outcomes.map((outcome) => {
        if (outcome instanceof LedgerUnavailable) throw outcome;
        return outcome;
      });
    },
    stop: () => batcher.stop(),
  };
}
