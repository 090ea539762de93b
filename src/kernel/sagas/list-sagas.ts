import type { Queryable } from '../db/database.ts';
import type { Saga } from './define-saga.ts';

export interface OpenSaga {
  readonly saga: string;
  readonly id: string;
  readonly status: string;
  readonly about: string;
  readonly lane: string;
  /** What the last step has reported, or else the meaning of the state. */
  readonly waitsFor: string;
  readonly createdAt: Date;
  /** When it entered this state. */
  readonly since: Date;
  /** It has exceeded the bound of its state or of the whole saga. */
  readonly stuck: boolean;
}

export interface ListOptions {
  readonly id?: string | undefined;
  /** Evaluates `stuck` this much later. */
  readonly laterMs?: number | undefined;
  readonly limit?: number;
}

/** Open sagas: stuck ones first, then the oldest. */
export async function listOpenSagas(
  db: Queryable,
  sagas: readonly Saga[],
  { id, laterMs = 0, limit = 1_000 }: ListOptions = {},
): Promise<OpenSaga[]> {
  const found: OpenSaga[] = [];
  for (const saga of sagas) {
    const { rows } = await db.query<Omit<OpenSaga, 'saga' | 'waitsFor'> & { waitsFor: string | null }>(
      `SELECT id, status, ${saga.about} AS about, ${saga.lane} AS lane, waits_for, created_at, status_since AS since,
              ${isStuckSql({ bounds: '$1', within: '$5', laterMs: '$2' })} AS stuck
         FROM ${saga.table} WHERE finished_at IS NULL AND ($3::text IS NULL OR id = $3)
        ORDER BY stuck DESC, status_since LIMIT $4`,
      [stuckBounds(saga), laterMs, id ?? null, limit, saga.withinMs ?? null],
    );
    for (const row of rows) {
      found.push({
        ...row,
        saga: saga.name,
        waitsFor: row.waitsFor ?? saga.states[row.status]?.meaning ?? 'a state that this release does not know',
      });
    }
  }
  return found
    .toSorted((a, b) => Number(b.stuck) - Number(a.stuck) || a.since.getTime() - b.since.getTime())
    .slice(0, limit);
}

/**
 * SQL: whether a row exceeds the bound of its state (the result of `stuckBounds`) or of the whole saga, in milliseconds
 * or null. Each argument is a parameter or a number.
 */
export function isStuckSql({ bounds, within, laterMs }: Record<'bounds' | 'within' | 'laterMs', string>): string {
  const moment = `clock_timestamp() + make_interval(secs => ${laterMs}::float8 / 1000)`;
  return `(coalesce(status_since < ${moment} - make_interval(secs => (${bounds}::jsonb ->> status)::float8 / 1000), false)
    OR coalesce(created_at < ${moment} - make_interval(secs => ${within}::float8 / 1000), false))`;
}

export function stuckBounds({ states }: Saga): string {
  return JSON.stringify(Object.fromEntries(Object.entries(states).map(([name, { withinMs }]) => [name, withinMs])));
}
