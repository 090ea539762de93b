import { z } from 'zod';
import { onlyRow, type Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { activeStates, type Saga } from './define-saga.ts';
import { wakeSagas } from './wake-saga.ts';

const resumeJob = defineJob({ name: 'resume_sagas', payload: z.unknown(), maxAttempts: 1 });

/** So many of one kind at a time that the others are not kept waiting; the next minute brings the next. */
const atOnce = 1_000;

/** Every minute those that nobody has looked at for a while and that have no job any more get one. */
export function resumeSagasSchedule(db: Queryable, sagas: readonly Saga[]): Schedule {
  const handler = handleJob(resumeJob, async () => {
    const before = await momentAgo(db, { seconds: 120 });
    for (const saga of sagas) await wakeIdle(db, saga, { before, which: 'without_job' });
  });
  return { at: '* * * * *', handler };
}

/** A process that was killed has left its jobs locked for a while; whoever starts takes them all up at once. */
export async function resumeAllSagas(db: Queryable, sagas: readonly Saga[]): Promise<void> {
  const before = await momentAgo(db, { seconds: 0 });
  for (const saga of sagas) {
    let woken: number;
    do woken = await wakeIdle(db, saga, { before, which: 'all' });
    while (woken === atOnce);
  }
}

/** As text, which is as exact as the database is. */
async function momentAgo(db: Queryable, { seconds }: { readonly seconds: number }): Promise<string> {
  const { moment } = onlyRow(
    await db.query<{ moment: string }>('SELECT (clock_timestamp() - make_interval(secs => $1))::text AS moment', [
      seconds,
    ]),
  );
  return moment;
}

/** Those that were left alone for the longest time. They count as looked at now, so that the next ones come after them. */
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
