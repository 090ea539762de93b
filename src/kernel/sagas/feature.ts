import { z } from 'zod';
import { type Database, onlyRow, type Queryable } from '../db/database.ts';
import type { Feature } from '../feature.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { defineMetrics, gauge, type MetricSource, mostCounted } from '../metrics/metric.ts';
import { addSagaCommands, sagaDetails } from './commands.ts';
import { activeStates, type Saga } from './define-saga.ts';
import { isStuckSql, stuckBounds } from './list-sagas.ts';
import { wakeSagas } from './wake-saga.ts';

const resumeJob = defineJob({ name: 'resume_sagas', payload: z.unknown(), maxAttempts: 1 });

/** The batch per saga and minute, so that one kind of saga does not delay the others. */
const atOnce = 1_000;

/** Every minute: gives a new job to open sagas that were not touched for two minutes and have lost theirs. */
export function resumeSagasSchedule(db: Queryable, sagas: readonly Saga[]): Schedule {
  const handler = handleJob(resumeJob, async () => {
    const before = await momentAgo(db, { seconds: 120 });
    for (const saga of sagas) await wakeIdle(db, saga, { before, which: 'without_job' });
    await forgetReplacedJobs(db);
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

/**
 * graphile-worker takes the key and all attempts from a running job whose saga gets another one. If its process was killed, such a job would
 * stay for ever and count as given up.
 */
async function forgetReplacedJobs(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks t
      WHERE t.id = j.task_id AND t.identifier LIKE 'saga\\_%' AND j.key IS NULL AND j.locked_at IS NULL
        AND j.attempts >= j.max_attempts`,
  );
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

type Measure = 'open' | 'stuck' | 'oldest';

/** Counts the open rows of each saga, by its partial index on them. */
export function sagaMetrics(db: Queryable, sagas: readonly Saga[]): MetricSource {
  return defineMetrics({
    name: 'sagas',
    metrics: {
      paywright_sagas_open: gauge('Open sagas.'),
      paywright_sagas_stuck: gauge('Open sagas that have exceeded their time bound.'),
      paywright_sagas_oldest_seconds: gauge('The age of the oldest open saga.'),
    },
    maxAgeMs: 10_000,
    async read() {
      const rows: ({ saga: string } & Record<Measure, number>)[] = [];
      for (const saga of sagas) {
        const found = await db.query<Record<Measure, number>>(
          `SELECT count(*)::int AS open, count(*) FILTER (WHERE stuck)::int AS stuck,
                  coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest
             FROM (SELECT created_at, ${isStuckSql({ bounds: '$1', within: '$2', laterMs: '0' })} AS stuck
                     FROM ${saga.table} WHERE finished_at IS NULL LIMIT $3) s`,
          [stuckBounds(saga), saga.withinMs ?? null, mostCounted],
        );
        for (const row of found.rows) rows.push({ saga: saga.name, ...row });
      }
      const each = (measure: Measure) => rows.map((row) => ({ labels: { saga: row.saga }, value: row[measure] }));
      return {
        paywright_sagas_open: each('open'),
        paywright_sagas_stuck: each('stuck'),
        paywright_sagas_oldest_seconds: each('oldest'),
      };
    },
  });
}

interface SagaParts {
  readonly db: Database;
  readonly sagas: readonly Saga[];
}

export const sagas: Feature<{ metrics: SagaParts; working: SagaParts }> = {
  name: 'sagas',
  commands: (program, tools) => addSagaCommands(program, { ...tools, details: tools.gatherHook(sagaDetails) }),
  metrics: ({ db, sagas: declared }) => [sagaMetrics(db, declared)],
  onStart: ({ db, sagas: declared }) => resumeAllSagas(db, declared),
  schedules: ({ db, sagas: declared }) => [resumeSagasSchedule(db, declared)],
};
