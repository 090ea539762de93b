import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
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

/** More keys and reasons than this within a window are not recorded. One takes about a kilobyte. */
const mostNoted = 10_000;

export function createRefusalBook({ db, logger, windowMs }: RefusalBookOptions): RefusalBook {
  let noted = new Map<string, Noted>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let left = 0;

  /** The next window begins with the next refusal, and never before this one is written: so at most two are in memory. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = [...noted.values()];
    noted = new Map();
    if (left > 0) logger.warn({ refusals: left }, 'too many refused payments in a minute: some were not recorded');
    left = 0;
    writing = writing.then(() => write(batch));
    return writing;
  }

  async function write(batch: readonly Noted[]): Promise<void> {
    const accounts = new Map<bigint, Noted[]>();
    for (const refusal of batch) {
      const { accountId } = refusal;
      accounts.set(accountId, [...(accounts.get(accountId) ?? []), refusal]);
    }
    for (const [accountId, refusals] of accounts) {
      await db
        .transaction((tx) => insert(tx, accountId, refusals))
        .catch((err: unknown) => {
          if (err instanceof Problem) return;
          logger.error({ err, refusals: refusals.length }, 'refused payments could not be recorded');
        });
    }
  }

  return {
    note(refusal) {
      const { reason } = refusal;
      const before = noted.get(reason);
      if (before !== undefined) {
        before.count++;
        return;
      }
      if (noted.size >= mostNoted) {
        left++;
        return;
      }
      const now = Date.now();
      noted.set(reason, { ...refusal, id: newUuid(now), at: new Date(now), count: 1 });
      timer ??= setTimeout(() => void writing.then(flush), windowMs).unref();
    },
    stop: flush,
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
