import { z } from 'zod';
import { onlyRow, type Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { activeStates, type Saga } from './define-saga.ts';
import { wakeSagas } from './wake-saga.ts';

const resumeJob = defineJob({ name: 'resume_sagas', payload: z.unknown(), maxAttempts: 1 });

/** The batch per saga and minute, so that one kind of saga does not delay the others. */
const atOnce = 1_000;

/** Every minute: gives a new job to open sagas that were not touched for two minutes and have lost theirs. */
export function resumeSagasSchedule(db: Queryable, sagas: readonly Saga[]): Schedule {
  const handler = handleJob(resumeJob, async () => {
    const before = await momentAgo(db, { seconds: 120 });
    for (const saga of sagas) await wakeIdle(db, saga, { before, which: 'without_job' });
  });
  return { at: '* * * * *', handler };
}

/** At start: a killed process has left its jobs locked for a while, so every open saga gets one at once. */
export async function resumeAllSagas(db: Queryable, sagas: readonly Saga[]): Promise<void> {
  const before = await momentAgo(db, { seconds: 0 });
  for (const saga of sagas) {
    let woken: number;
    do woken = await wakeIdle(db, saga, { before, which: 'all' });
    while (woken === atOnce);
  }
}

/** As text, because a Date has no microseconds. */
async function momentAgo(db: Queryable, { seconds }: { readonly seconds: number }): Promise<string> {
  const { moment } = onlyRow(
    await db.query<{ moment: string }>('SELECT (clock_timestamp() - make_interval(secs => $1))::text AS moment', [
      seconds,
    ]),
  );
  return moment;
}

/** Wakes the sagas that were idle the longest, and touches them so that the next batch finds others. */
async function wakeIdle(
  db: Queryable,
  saga: Saga,
  { before, which }: { readonly before: string; readonly which: 'all' | 'without_job' },
): Promise<number> {
  const { name, table, lane } = saga;
  const { rows } = await db.query<{ id: string; lane: string }>(
    `UPDATE ${table} SET updated_at = clock_timestamp() WHERE id IN (
       SELECT id FROM ${table} WHERE finished_at IS NULL AND status = ANY ($1) AND updated_at <= $2
          AND ($4 = 'all' OR NOT EXISTS (SELECT FROM graphile_worker._private_jobs j
            WHERE j.key = ${table}.id AND j.attempts < j.max_attempts))
        ORDER BY updated_at LIMIT $3 FOR UPDATE SKIP LOCKED)
     RETURNING id, ${lane} AS lane`,
    [activeStates(saga), before, atOnce, which],
  );
  for (const one of new Set(rows.map((row) => row.lane))) {
    const found = rows.filter((row) => row.lane === one).map(({ id }) => ({ saga: name, id }));
    await wakeSagas(db, one, found);
  }
  return rows.length;
}
