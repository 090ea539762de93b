import type { Queryable } from '../../../../kernel/db/database.ts';

/** 20 requests a second for all instances together. Circle blocks clients above 35. */
const apartMs = 50;

/** A job waits no longer than this for its turn, and otherwise tries again later. */
const mostAheadMs = 2_000;

/** Milliseconds until this process may ask the service. Undefined when too many wait already. */
export async function takeTurn(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ inMs: number }>(
    `UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => $1 / 1000.0)
      WHERE next_at < clock_timestamp() + make_interval(secs => $2 / 1000.0)
     RETURNING (extract(epoch FROM next_at - clock_timestamp()) * 1000 - $1)::float8 AS in_ms`,
    [apartMs, mostAheadMs],
  );
  return rows[0] && Math.max(0, rows[0].inMs);
}

/** Pauses all instances. */
export async function leaveAlone(db: Queryable, ms: number): Promise<void> {
  await db.query(
    'UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp() + make_interval(secs => $1 / 1000.0))',
    [ms],
  );
}
