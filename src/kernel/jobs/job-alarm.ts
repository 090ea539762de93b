import type pg from 'pg';
import type { Logger } from '../log/logger.ts';
import { type Loop, startLoop } from './loop.ts';

export interface JobAlarmOptions {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** The tasks that this process runs. */
  readonly tasks: readonly string[];
  /** Makes the lanes of these tasks fetch their jobs. */
  wake(tasks: readonly string[]): void;
}

/** Jobs that are due within this time of one another share a look. */
const paceMs = 50;

/** A job stays this long where no notification told of it, such as one that another process has returned. */
const fallbackMs = 5_000;

/**
 * A job that is due and still there is looked for again this soon: its lane may be busy, or it was deaf when it was woken. A look
 * at a long backlog takes longer, and then the pause is ten times that.
 */
const againMs = 100;

/**
 * Notifications tell the lanes of jobs that are due now. This wakes a lane when a later job becomes due: one query finds
 * the next moment of all lanes, so lanes without jobs need not ask. Notify it of new and of failed jobs.
 */
export function startJobAlarm({ pool, logger, tasks: own, wake }: JobAlarmOptions): Loop {
  return startLoop({
    logger,
    fields: {},
    trouble: 'due jobs cannot be found',
    mostBackOffMs: 1_000,
    paceMs,
    async run() {
      const since = performance.now();
      const { tasks, nextInMs } = await findDue(pool, own);
      if (tasks.length > 0) wake(tasks);
      const soonestMs = tasks.length > 0 ? Math.max(againMs, 10 * (performance.now() - since)) : fallbackMs;
      return Math.min(soonestMs, Math.max(paceMs, nextInMs ?? fallbackMs));
    },
  });
}

/** Every job has priority 0. With it, the index of available jobs is read in the order of their time. */
async function findDue(
  pool: pg.Pool,
  own: readonly string[],
): Promise<{ readonly tasks: readonly string[]; readonly nextInMs: number | null }> {
  const { rows } = await pool.query<{ tasks: string[]; nextInMs: number | null }>(
    `SELECT ARRAY(
         SELECT t.identifier FROM graphile_worker._private_tasks t WHERE t.identifier = ANY ($1) AND t.id IN (
           SELECT task_id FROM graphile_worker._private_jobs
            WHERE is_available AND priority = 0 AND run_at <= now())) AS tasks,
       (SELECT extract(epoch FROM run_at - now())::float8 * 1000 FROM graphile_worker._private_jobs
         WHERE is_available AND priority = 0 AND run_at > now() ORDER BY run_at LIMIT 1) AS "nextInMs"`,
    [own],
  );
  return rows[0] ?? { tasks: [], nextInMs: null };
}
