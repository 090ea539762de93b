import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { OutcomeUnknown } from '../../kernel/db/errors.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { newUuid } from '../../kernel/ids/typeid.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Refusal, RefusalBook } from './judged.ts';

export interface RefusalBookOptions {
  readonly db: Database;
  readonly logger: Logger;
  /** How long refusals with one reason are counted together. */
  readonly windowMs: number;
}

interface Noted extends Refusal {
  readonly id: string;
  /** Of the first one, which the record describes. */
  readonly at: Date;
  count: number;
}

/** So many keys and reasons are in memory, and as many are being written. One takes about a kilobyte. */
const mostNoted = 10_000;

export function createRefusalBook({ db, logger, windowMs }: RefusalBookOptions): RefusalBook {
  let noted = new Map<string, Noted>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isWriting = false;
  let isStopped = false;
  let left = 0;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = [...noted.values()];
    noted = new Map();
    if (left > 0) logger.warn({ refusals: left }, 'too many refused payments in a minute: some were not recorded');
    left = 0;
    isWriting = true;
    writing = writing.then(() => write(batch));
    return writing;
  }

  async function write(batch: readonly Noted[]): Promise<void> {
    const accounts = new Map<bigint, Noted[]>();
    for (const refusal of batch) {
      const others = accounts.get(refusal.accountId);
      if (others === undefined) accounts.set(refusal.accountId, [refusal]);
      else others.push(refusal);
    }
    for (const [accountId, refusals] of accounts)
      await db.transaction((tx) => insert(tx, accountId, refusals)).catch((err: unknown) => handle(err, refusals));
    isWriting = false;
  }

  /** After a lost commit they may be there, and after any other error they are not. */
  function handle(err: unknown, refusals: readonly Noted[]): void {
    if (err instanceof Problem) return;
    if (err instanceof OutcomeUnknown || isStopped) {
      logger.error({ err, refusals: refusals.length }, 'refused payments could not be recorded');
      return;
    }
    logger.warn({ err, refusals: refusals.length }, 'refused payments could not be recorded, and will be tried again');
    for (const refusal of refusals) keep(refusal);
  }

  function keep(refusal: Noted): void {
    const { reason } = refusal;
    const other = noted.get(reason);
    if (other === undefined && noted.size >= mostNoted) {
      left++;
      return;
    }
    // The earlier one is described.
    const [first, second] = other === undefined || refusal.at < other.at ? [refusal, other] : [other, refusal];
    noted.set(reason, { ...first, count: first.count + (second?.count ?? 0) });
    // Never before the window before it is written: so at most two are in memory.
    timer ??= setTimeout(() => void writing.then(flush), windowMs).unref();
  }

  return {
    note(refusal) {
      // Written before its time. While that takes, what does not fit is left out.
      if (noted.size >= mostNoted && !isWriting) void flush();
      const now = Date.now();
      keep({ ...refusal, id: newUuid(now), at: new Date(now), count: 1 });
    },
    stop() {
      isStopped = true;
      return flush();
    },
  };
}

/** Beyond the day's cap nothing of the batch is written. */
async function insert(tx: Transaction, accountId: bigint, refusals: readonly Noted[]): Promise<void> {
  const { tier = 'free' } = refusals[0] ?? {};
  await countToday(tx, { accountId, tier }, 'refusals', refusals.length);
  await tx.query(
    `INSERT INTO decisions_waiting (id, account_id, at, key_id, outcome, payee, form)
     SELECT r.id, $1, r.at, r.key_id, r.outcome, r.payee, r.form
       FROM unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::text[]) r (id, at, key_id, outcome, payee, form)`,
    [
      accountId,
      refusals.map(({ id }) => id),
      refusals.map(({ at }) => at.toISOString()),
      refusals.map(({ keyId }) => keyId),
      refusals.map(({ outcome }) => outcome),
      refusals.map(({ payee }) => payee ?? null),
      refusals.map(({ form, id, count }) => form({ decisionId: id, count })),
    ],
  );
}
