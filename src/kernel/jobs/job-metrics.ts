import type { Queryable } from '../db/database.ts';
import { defineMetrics, gauge, type MetricSource, mostCounted } from '../metrics/metric.ts';

type Measure = 'ready' | 'running' | 'failing' | 'givenUp' | 'oldest';

/** Counts waiting, running and failed jobs. A saga job has its lane in its name: `saga_MATIC`. */
export function jobMetrics(db: Queryable): MetricSource {
  return defineMetrics({
    name: 'jobs',
    metrics: {
      paywright_jobs_ready: gauge('Jobs that are due and wait for a slot.'),
      paywright_jobs_oldest_ready_seconds: gauge('How long the oldest due job has waited.'),
      paywright_jobs_running: gauge('Jobs that a process is running.'),
      paywright_jobs_failing: gauge('Jobs that have failed and will be retried.'),
      paywright_jobs_given_up: gauge('Jobs that have used up their attempts and are still stored.'),
    },
    maxAgeMs: 10_000,
    async read() {
      const { rows } = await db.query<{ task: string } & Record<Measure, number>>(
        `SELECT t.identifier AS task,
                count(*) FILTER (WHERE j.ready)::int AS ready, count(*) FILTER (WHERE j.running)::int AS running,
                count(*) FILTER (WHERE j.failed AND NOT j.over)::int AS failing,
                count(*) FILTER (WHERE j.failed AND j.over)::int AS given_up,
                coalesce(extract(epoch FROM now() - min(j.run_at) FILTER (WHERE j.ready)), 0)::float8 AS oldest
           FROM (SELECT task_id, run_at, locked_at IS NOT NULL AS running, last_error IS NOT NULL AS failed,
                        attempts >= max_attempts AS over,
                        locked_at IS NULL AND attempts < max_attempts AND run_at <= now() AS ready
                   FROM graphile_worker._private_jobs LIMIT $1) j
           JOIN graphile_worker._private_tasks t ON t.id = j.task_id
          GROUP BY 1 ORDER BY 1`,
        [mostCounted],
      );
      const each = (measure: Measure) => rows.map((row) => ({ labels: { task: row.task }, value: row[measure] }));
      return {
        paywright_jobs_ready: each('ready'),
        paywright_jobs_oldest_ready_seconds: each('oldest'),
        paywright_jobs_running: each('running'),
        paywright_jobs_failing: each('failing'),
        paywright_jobs_given_up: each('givenUp'),
      };
    },
  });
}
