import { z } from 'zod';
import type { Database, Queryable } from '../kernel/db/database.ts';
import { deleteInChunks } from '../kernel/db/delete-in-chunks.ts';
import type { Feature } from '../kernel/feature.ts';
import { defineJob, handleJob } from '../kernel/jobs/define-job.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { addLedgerCommands } from './commands.ts';
import { openMonths } from './months.ts';

/** Small enough that a deletion does not block other statements for long. */
const chunk = 20_000;

/**
 * Deletes Idempotency-Keys older than this, by the database's clock, which also wrote their times: a process whose own
 * clock is days ahead must not free a key that has just paid. Postings stay. Returns the number of deleted keys.
 */
export async function forgetKeysOlderThan(db: Queryable, ageMs: number): Promise<number> {
  for (let forgotten = 0; ; ) {
    const { rowCount } = await db.query(
      `DELETE FROM ledger.idempotency_keys WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ledger.idempotency_keys
          WHERE posted_at < now() - make_interval(secs => $1::float8 / 1000) LIMIT $2))`,
      [ageMs, chunk],
    );
    forgotten += rowCount ?? 0;
    if ((rowCount ?? 0) < chunk) return forgotten;
  }
}

const job = defineJob({ name: 'expire-idempotency-keys', payload: z.unknown(), maxAttempts: 1 });

/** Keys are promised for 24 hours. They are kept for 48, to allow for clocks that disagree. */
const keptMs = 48 * 60 * 60_000;

export function expireIdempotencyKeys(db: Database): Schedule {
  return {
    at: '17 * * * *',
    handler: handleJob(job, async () => {
      await forgetKeysOlderThan(db, keptMs);
    }),
  };
}

const forgetJob = defineJob({ name: 'forget-guarded-payments', payload: z.unknown(), maxAttempts: 1 });

/** A guard looks back ten minutes. */
function forgetGuardedPayments(db: Database): Schedule {
  const where = "posted_at < now() - interval '1 hour'";
  return {
    at: '23 * * * *',
    handler: handleJob(forgetJob, () => deleteInChunks(db, { table: 'ledger.guarded_payments', where })),
  };
}

const months = defineJob({ name: 'open-ledger-months', payload: z.unknown(), maxAttempts: 5 });

/** Every day, although a month is opened once: a run that fails is made up for weeks before the month begins. */
export function openMonthsDaily(db: Database, logger: Logger): Schedule {
  return {
    at: '41 3 * * *',
    handler: handleJob(months, async () => {
      await openMonths(db, logger);
    }),
  };
}

export const ledger: Feature<{ working: { readonly db: Database; readonly logger: Logger } }> = {
  name: 'ledger',
  commands: (program, tools) => addLedgerCommands(program, tools),
  schedules: ({ db, logger }) => [expireIdempotencyKeys(db), forgetGuardedPayments(db), openMonthsDaily(db, logger)],
};
