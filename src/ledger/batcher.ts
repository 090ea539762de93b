import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { OutcomeUnknown, wasRejected } from '../kernel/db/errors.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { createHistogram, defineMetrics, type MetricSource } from '../kernel/metrics/metric.ts';
import type { AccountId } from './account-id.ts';
import { LedgerBusy, LedgerUnavailable } from './errors.ts';
import { anySlot } from './fee-slots.ts';
import { lacksMonth, lacksMonthAdvice } from './months.ts';
import { lacksTemplate, type PostCall, type PostRow, postBatch } from './post-batch.ts';
import type { Outcome, Posting } from './posting.ts';

export interface BatchMeter {
  readonly source: MetricSource;
  count(batch: BatchReport): void;
}

export function createBatchMeter(): BatchMeter {
  const sizes = createHistogram({ buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500] });
  const times = createHistogram({ buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5] });
  let failed = 0;
  let waiting = 0;
  return {
    count(batch) {
      sizes.observe(batch.postings);
      times.observe(batch.ms / 1000);
      if (batch.outcome === 'failed') failed++;
      waiting = batch.waiting;
    },
    source: defineMetrics({
      name: 'batches',
      metrics: {
        paywright_ledger_batch_postings: { type: 'histogram', help: 'Postings per batch.' },
        paywright_ledger_batch_seconds: { type: 'histogram', help: 'Duration of a batch, including the commit.' },
        paywright_ledger_batches_failed_total: {
          type: 'counter',
          help: 'Batches that the database rejected or did not answer. Their postings may be retried.',
        },
        paywright_ledger_postings_waiting: {
          type: 'gauge',
          help: 'Postings waiting when the last batch was answered.',
        },
      },
      maxAgeMs: 0,
      read: () => ({
        paywright_ledger_batch_postings: sizes.samples(),
        paywright_ledger_batch_seconds: times.samples(),
        paywright_ledger_batches_failed_total: failed,
        paywright_ledger_postings_waiting: waiting,
      }),
    }),
  };
}

/** What a commit has shown to be stored. It is added only after the commit, because a rollback undoes it, too. */
export interface Known<Key> {
  has(key: Key): boolean;
  add(keys: readonly Key[]): void;
  forget(): void;
}

export function createKnown<Key>(most: number): Known<Key> {
  const known = new Set<Key>();
  return {
    has: (key) => known.has(key),
    add(keys) {
      if (known.size + keys.length > most) known.clear();
      for (const key of keys) known.add(key);
    },
    forget: () => known.clear(),
  };
}

const mostTemplates = 100_000;

export interface BatchLimits {
  readonly batchSize: number;
  /** Postings that may wait for their batch. One more is refused with LedgerBusy. */
  readonly waiting: number;
  readonly batchesInFlight: number;
  /** Beside a batch in flight, another leaves at once with this many postings, and otherwise after `besideMs`. */
  readonly beside: number;
  /** A connection that is silent for longer is considered lost. */
  readonly answerWithinMs: number;
}

const defaultLimits: BatchLimits = {
  batchSize: 500,
  waiting: 10_000,
  batchesInFlight: 2,
  beside: 100,
  answerWithinMs: 15_000,
};

/** Longer than a batch takes, unless it waits for an account that somebody holds: others are not to wait with it. */
const besideMs = 25;

/** These succeed on retry: serialization failure, deadlock, a key that another batch has just written, a lost template. */
const transientCodes = new Set(['40001', '40P01', '23505', lacksTemplate]);
const mostAttempts = 4;

interface Waiting {
  readonly posting: Posting;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export interface Batcher {
  post(posting: Posting): Promise<Outcome>;
  /** How many postings wait or are being posted. */
  readonly unanswered: number;
  stop(): Promise<void>;
}

export interface BatchReport {
  readonly postings: number;
  readonly ms: number;
  readonly outcome: 'answered' | 'failed';
  /** Postings that wait for the next batch. */
  readonly waiting: number;
}

export interface BatcherOptions {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly known: Known<AccountId>;
  readonly limits?: Partial<BatchLimits>;
  readonly onBatch?: ((report: BatchReport) => void) | undefined;
  /** Called after a commit that may have recorded events. */
  readonly onEvents?: (() => void) | undefined;
  /** Called after a commit that may have recorded decisions. */
  readonly onDecisions?: (() => void) | undefined;
}

/**
 * While a batch commits, arriving postings gather into the next one. A posting that finds the ledger idle leaves at the
 * end of this turn of the event loop, together with those that arrived in the same turn, and at once when the last two
 * batches were lone postings. A batch costs the database as much as twenty postings, whatever its size, so only a large
 * one leaves beside another that has just begun.
 */
export function createBatcher(options: BatcherOptions): Batcher {
  const { pool, logger, known, limits: given, onBatch, onEvents, onDecisions } = options;
  const limits = { ...defaultLimits, ...given };
  const templates = createKnown<string>(mostTemplates);
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let leaving = 0;
  let scheduled = false;
  let patience: NodeJS.Timeout | undefined;
  /** How many batches in a row were one posting. */
  let loneInARow = 0;
  let stopped = false;
  let onIdle = () => {};

  function schedule(): void {
    if (scheduled || waiting.length === 0 || inFlight >= limits.batchesInFlight) return;
    if (inFlight > 0 && waiting.length < limits.beside) {
      patience ??= setTimeout(leaveBeside, besideMs);
      return;
    }
    if (inFlight === 0 && loneInARow >= 2) {
      leave();
      return;
    }
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      leave();
      schedule();
    });
  }

  function leaveBeside(): void {
    patience = undefined;
    if (!scheduled && waiting.length > 0 && inFlight < limits.batchesInFlight) leave();
  }

  function leave(): void {
    clearTimeout(patience);
    patience = undefined;
    const batch = takeBatch();
    inFlight++;
    leaving += batch.length;
    loneInARow = batch.length === 1 ? loneInARow + 1 : 0;
    void answer(batch).finally(() => {
      inFlight--;
      leaving -= batch.length;
      schedule();
      if (waiting.length === 0 && inFlight === 0) onIdle();
    });
  }

  /**
   * The oldest postings. Of two with the same key or reference the later one waits, so that it finds the first one's result. So does a
   * guarded one that is like another.
   */
  function takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    const left: Waiting[] = [];
    const scopes: Scopes = {
      taken: new Set(),
      likenesses: waiting.some(({ posting }) => posting.guard !== undefined) ? new Set() : undefined,
    };
    for (const item of waiting) {
      const free = batch.length < limits.batchSize && claim(scopes, item.posting);
      (free ? batch : left).push(item);
    }
    waiting = left;
    return batch;
  }

  async function answer(batch: readonly Waiting[], attempt = 1): Promise<void> {
    const since = performance.now();
    const report = (outcome: BatchReport['outcome']) =>
      onBatch?.({ postings: batch.length, ms: performance.now() - since, outcome, waiting: waiting.length });
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      report('failed');
      for (const { reject } of batch) reject(new LedgerUnavailable(error));
      return;
    }
    let failure: unknown;
    let isSent = false;
    const send = (what: PostCall, values: (string | null)[]) => {
      isSent = true;
      return call(client, what, values);
    };
    try {
      const postings = batch.map(({ posting }) => posting);
      const { outcomes, opened, ...stored } = await postBatch(send, postings, {
        isKnown: known.has,
        isStored: templates.has,
        slot: anySlot(),
      });
      client.release();
      report('answered');
      if (postings.some(mayRecordEvents)) onEvents?.();
      if (postings.some(isDecided)) onDecisions?.();
      known.add(opened);
      templates.add(stored.templates);
      for (let index = 0; index < batch.length; index++) {
        const outcome = outcomes[index] as Outcome | LedgerUnavailable;
        if (outcome instanceof LedgerUnavailable) batch[index]?.reject(outcome);
        else batch[index]?.resolve(outcome);
      }
      return;
    } catch (error) {
      failure = error;
      client.release(isSent && refusal(error) === undefined);
      report('failed');
    }
    await (isSent ? recover(batch, failure, attempt) : findFault(batch, failure));
  }

  async function recover(batch: readonly Waiting[], error: unknown, attempt: number): Promise<void> {
    const refused = refusal(error);
    if (refused === undefined) {
      logger.warn({ err: error, postings: batch.length }, 'a database connection was lost while posting');
      // It may have committed.
      onEvents?.();
      onDecisions?.();
      for (const { reject } of batch) reject(new OutcomeUnknown(error));
      return;
    }
    const code = refused.code ?? '';
    if (code === lacksTemplate) templates.forget();
    if (transientCodes.has(code) && attempt < mostAttempts) {
      await sleep(Math.random() * 10 * attempt);
      return answer(batch, attempt + 1);
    }
    if (lacksMonth(error)) logger.error({ err: error, postings: batch.length }, lacksMonthAdvice);
    if (cannotWrite(code) || lacksMonth(error)) {
      for (const { reject } of batch) reject(new LedgerUnavailable(error));
      return;
    }
    await findFault(batch, error);
  }

  /** One posting is at fault and failed the whole batch. Halving the batch finds it. */
  async function findFault(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) {
      first.reject(error);
      return;
    }
    const middle = batch.length >> 1;
    await answer(batch.slice(0, middle));
    await answer(batch.slice(middle));
  }

  async function call(client: pg.PoolClient, what: PostCall, values: (string | null)[]): Promise<PostRow> {
    const query = { ...what, values, query_timeout: limits.answerWithinMs };
    const { rows } = await client.query<PostRow>(query);
    return rows[0] as PostRow;
  }

  return {
    post(posting) {
      if (stopped) return Promise.reject(new LedgerUnavailable(new Error('the ledger has been stopped')));
      if (waiting.length >= limits.waiting) return Promise.reject(new LedgerBusy(waiting.length));
      return new Promise((resolve, reject) => {
        waiting.push({ posting, resolve, reject });
        schedule();
      });
    },
    get unanswered() {
      return waiting.length + leaving;
    },
    async stop() {
      stopped = true;
      if (waiting.length === 0 && inFlight === 0) return;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

/** A budget that is spent may reach a threshold. */
function mayRecordEvents({ senderEvent, recipientEvent, authority }: Posting): boolean {
  return senderEvent !== undefined || recipientEvent !== undefined || (authority?.spends.length ?? 0) > 0;
}

function isDecided({ authority }: Posting): boolean {
  return authority?.decision !== undefined;
}

/** What the postings of a batch have claimed. */
interface Scopes {
  readonly taken: Set<string>;
  /** Undefined while no guarded posting waits. */
  readonly likenesses: Set<string> | undefined;
}

function claim({ taken, likenesses }: Scopes, posting: Posting): boolean {
  const { idempotency, reference, guard } = posting;
  const key = idempotency === undefined ? undefined : `${idempotency.accountId} ${idempotency.key}`;
  const outside = reference === undefined ? undefined : `reference ${reference}`;
  const likeness = likenesses && likenessOf(posting);
  if ((key !== undefined && taken.has(key)) || (outside !== undefined && taken.has(outside))) return false;
  // The guard sees payments that are not guarded, too.
  if (guard !== undefined && likeness !== undefined && likenesses?.has(likeness)) return false;
  if (key !== undefined) taken.add(key);
  if (outside !== undefined) taken.add(outside);
  if (likeness !== undefined) likenesses?.add(likeness);
  return true;
}

const likenessOf = ({ type, senderId, recipientId, amount }: Posting) =>
  `${type} ${senderId} ${recipientId} ${amount.asset} ${amount.atomic}`;

/**
 * An error that the database itself returned, after which the transaction is certainly rolled back. Undefined for a
 * lost connection.
 */
function refusal(error: unknown): pg.DatabaseError | undefined {
  return wasRejected(error) ? error : undefined;
}

/** Out of disk, memory or time, or a read-only standby: no single posting is at fault. */
function cannotWrite(code: string): boolean {
  return code === '25006' || code === '57014' || code === '55P03' || code.startsWith('53') || code.startsWith('58');
}
