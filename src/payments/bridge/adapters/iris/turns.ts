import type { Queryable } from '../../../../kernel/db/database.ts';

/** How far apart two questions are, of all instances together: 20 a second, where more than 35 are punished. */
const apartMs = 50;

/** Nobody waits in a job for longer than that; whoever would looks again later. */
const mostAheadMs = 2_000;

/** When this process may ask the attestation service, in milliseconds from now; undefined when too many wait already. */
export async function takeTurn(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ in_ms: number }>(
    `UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => $1 / 1000.0)
      WHERE next_at < clock_timestamp() + make_interval(secs => $2 / 1000.0)
     RETURNING (extract(epoch FROM next_at - clock_timestamp()) * 1000 - $1)::float8 AS in_ms`,
    [apartMs, mostAheadMs],
  );
  return rows[0] && Math.max(0, rows[0].in_ms);
}

/** The service wants to be left alone: by everybody. */
export async function leaveAlone(db: Queryable, ms: number): Promise<void> {
  await db.query(
    'UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp() + make_interval(secs => $1 / 1000.0))',
    [ms],
  );
}
