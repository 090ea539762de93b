import { type Database, onlyRow, type Transaction } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { AccountId } from './account-id.ts';
import { type BatchLimits, type BatchReport, createBatcher, createKnown } from './batcher.ts';
import { LedgerUnavailable } from './errors.ts';
import { anySlot, gatherFees, takesFees } from './fee-slots.ts';
import { lacksMonth, lacksMonthAdvice } from './months.ts';
import { findEarlier, type PostCall, type PostRow, postBatch } from './post-batch.ts';
import { type Authority, assertSound, type Outcome, type Posting } from './posting.ts';

/** The only way in which money moves. */
export interface Ledger {
  /**
   * Posts together with other waiting postings, in a commit of its own. Throws LedgerBusy and LedgerUnavailable
   * (nothing was posted) or OutcomeUnknown (it may have been posted).
   */
  post(posting: Posting): Promise<Outcome>;
  /**
   * Posts within the caller's transaction, beside its rows. Call it once, as the last statement: accounts stay locked
   * from here to the commit. A refused posting writes nothing; the caller decides whether to go on.
   */
  postWithin(tx: Transaction, postings: readonly Posting[]): Promise<readonly Outcome[]>;
  /** Whether several requests wait for their postings, so that work without anyone waiting should step back. */
  readonly isBusy: boolean;
  /** Accepts no more postings, and returns when all accepted ones are answered. */
  stop(): Promise<void>;
}

/**
 * For the connections that batches are posted on. The database ends a silent holder of an account sooner than these,
 * and a statement ends before its callers give up waiting.
 */
export const postingLimits = { statementMs: 12_000, lockMs: 12_000 } as const;

const mostAccounts = 500_000;

/** A lone caller after another is no reason to step back. */
const busyFrom = 2;

export interface LedgerOptions {
  /**
   * Best with a pool of its own, with as many connections as batches in flight, so that slow queries do not delay
   * postings.
   */
  readonly db: Database;
  readonly logger: Logger;
  readonly limits?: Partial<BatchLimits>;
  readonly onBatch?: ((report: BatchReport) => void) | undefined;
  /** Called after a batch that may have recorded events. Its commit notifies nobody (migration 019). */
  readonly onEvents?: () => void;
  /** The same for a batch that may have recorded decisions (migration 030). */
  readonly onDecisions?: () => void;
}

export function createLedger({ db, logger, limits, onBatch, onEvents, onDecisions }: LedgerOptions): Ledger {
  // Accounts are never deleted, so an entry never becomes wrong.
  const known = createKnown<AccountId>(mostAccounts);
  const batcher = createBatcher({
    pool: db.pool,
    logger,
    known,
    onBatch,
    onEvents,
    onDecisions,
    ...(limits === undefined ? {} : { limits }),
  });

  async function postWithin(tx: Transaction, postings: readonly Posting[]): Promise<readonly Outcome[]> {
    postings.forEach(assertSound);
    if (postings.some(hasWorkInCommit)) return postAfterWork(tx, postings);
    const gathering = await gatherFees(tx, postings);
    const run = async ({ text }: PostCall, values: (string | null)[]) => {
      const result = await tx.query<PostRow>(text, values).catch((error: unknown) => {
        if (!lacksMonth(error)) throw error;
        logger.error({ err: error, postings: postings.length }, lacksMonthAdvice);
        throw new LedgerUnavailable(error);
      });
      return onlyRow(result);
    };
    const { outcomes } = await postBatch(run, [...gathering, ...postings], {
      isKnown: known.has,
      isStored: () => false,
      slot: postings.some(takesFees) ? 0 : anySlot(),
    });
    return outcomes.slice(gathering.length).map((outcome) => {
      if (outcome instanceof LedgerUnavailable) throw outcome;
      return outcome;
    });
  }

  async function postAfterWork(tx: Transaction, postings: readonly Posting[]): Promise<readonly Outcome[]> {
    const ready: Posting[] = [];
    for (const posting of postings) {
      const { inCommit, ...authority } = posting.authority ?? {};
      if (inCommit === undefined) ready.push(posting);
      else ready.push({ ...posting, authority: { ...(authority as Authority), spends: await inCommit(tx) } });
    }
    return postWithin(tx, ready);
  }

  /** In a transaction of its own, which is rolled back unless it is posted. */
  async function postAlone(posting: Posting): Promise<Outcome> {
    let refused: Outcome | undefined;
    try {
      return await db.transaction(async (tx) => {
        const [outcome] = (await postWithin(tx, [posting])) as [Outcome];
        if (outcome.outcome === 'posted') return outcome;
        refused = outcome;
        throw new Error('the ledger refused the posting');
      });
    } catch (error) {
      if (refused === undefined) throw error;
      return refused;
    }
  }

  return {
    post(posting) {
      assertSound(posting);
      const { idempotency } = posting;
      const posted = takesFees(posting) || hasWorkInCommit(posting) ? postAlone(posting) : batcher.post(posting);
      if (idempotency?.formerHashes === undefined) return posted;
      // The same request may have been stored under a former hash. Only a mismatch asks, which is rare.
      return posted.then(async (outcome) =>
        outcome.outcome === 'mismatch' ? ((await findEarlier(db, idempotency)) ?? outcome) : outcome,
      );
    },
    postWithin,
    get isBusy() {
      return batcher.unanswered >= busyFrom;
    },
    stop: () => batcher.stop(),
  };
}

function hasWorkInCommit({ authority }: Posting): boolean {
  return authority?.inCommit !== undefined;
}

/** Posts what must not be refused, such as the end of a saga: any other outcome rolls back the caller's transaction. */
export async function postOrThrow(tx: Transaction, ledger: Ledger, postings: readonly Posting[]): Promise<void> {
  if (postings.length === 0) return;
  const outcomes = await ledger.postWithin(tx, postings);
  for (const [index, { outcome }] of outcomes.entries()) {
    if (outcome !== 'posted') throw new Error(`${postings[index]?.reference} was not posted: ${outcome}`);
  }
}
