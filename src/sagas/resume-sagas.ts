import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { activeStates, type Saga } from './define-saga.ts';
import { wakeSaga } from './wake-saga.ts';

const resumeJob = defineJob({ name: 'resume_sagas', payload: z.unknown(), maxAttempts: 1 });

/** So many of one kind at a time that the others are not kept waiting; the next minute brings the next. */
const atOnce = 1_000;

/** Every minute those that nobody has looked at for a while get their job anew, whatever became of the old one. */
export function resumeSagasSchedule(db: Queryable, sagas: readonly Saga[]): Schedule {
  return { at: '* * * * *', handler: handleJob(resumeJob, () => resume(db, sagas, { idleSeconds: 120 })) };
}

/** A process that was killed has left its jobs locked for a while; whoever starts takes them all up at once. */
export function resumeAllSagas(db: Queryable, sagas: readonly Saga[]): Promise<void> {
  return resume(db, sagas, { idleSeconds: 0 });
}

async function resume(
  db: Queryable,
  sagas: readonly Saga[],
  { idleSeconds }: { readonly idleSeconds: number },
): Promise<void> {
  for (const saga of sagas) {
    const { rows } = await db.query<{ id: string; lane: string }>(
      `SELECT id, ${saga.lane} AS lane FROM ${saga.table}
        WHERE finished_at IS NULL AND status = ANY ($1) AND updated_at <= now() - make_interval(secs => $2)
          AND NOT EXISTS (SELECT FROM graphile_worker._private_jobs j WHERE j.key = ${saga.table}.id
            AND j.attempts < j.max_attempts AND ($2 > 0 OR j.locked_at IS NULL))
        ORDER BY id LIMIT $3`,
      [activeStates(saga), idleSeconds, atOnce],
    );
    for (const { id, lane } of rows) await wakeSaga(db, { saga: saga.name, id, lane });
  }
}
