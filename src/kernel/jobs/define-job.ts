import type { z } from 'zod';
import { within } from '../clock.ts';
import type { Queryable } from '../db/database.ts';

/** Work that runs outside a request and is retried until it succeeds. It must be idempotent. */
export interface Job<Payload extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly payload: Payload;
  readonly maxAttempts: number;
  /**
   * Each lane has slots of its own, so a job that waits holds up only its own lane. The default lane is `general`, and
   * `schedules` for scheduled jobs.
   */
  readonly lane?: string;
}

export function defineJob<Payload extends z.ZodType>(job: Job<Payload>): Job<Payload> {
  return job;
}

/** A job and the code that runs it. The composition root pairs them, because the code needs parts that a job cannot carry. */
export interface JobHandler {
  readonly job: Job;
  run(payload: unknown): Promise<void>;
}

export function handleJob<Payload extends z.ZodType>(
  job: Job<Payload>,
  run: (payload: z.output<Payload>) => Promise<void>,
): JobHandler {
  const late = () => {
    throw new Error(`${job.name} took longer than ${jobTimeoutMs} ms`);
  };
  return { job, run: async (payload) => within(jobTimeoutMs, run(job.payload.parse(payload)), late) };
}

/** A job does one step. A run that takes longer has failed and is retried. */
export const jobTimeoutMs = 30_000;

/** Enqueues in the caller's transaction, so the job exists exactly if the transaction commits. */
export async function enqueue<Payload extends z.ZodType>(
  tx: Queryable,
  job: Job<Payload>,
  payload: z.input<Payload>,
  { delayMs = 0, key, unlessSooner = false }: EnqueueOptions = {},
): Promise<void> {
  if (unlessSooner && key !== undefined) await bringForward(tx, key, delayMs);
  const mode = unlessSooner ? 'preserve_run_at' : 'replace';
  await tx.query(
    `SELECT graphile_worker.add_job($1, $2::json, max_attempts => $3, run_at => now() + make_interval(secs => $4),
        job_key => $5, job_key_mode => $6)`,
    [job.name, JSON.stringify(payload), job.maxAttempts, delayMs / 1000, key, mode],
  );
}

export interface EnqueueOptions {
  readonly delayMs?: number;
  /** A new job replaces a waiting one with the same key. */
  readonly key?: string;
  /**
   * Keeps the earlier of the two run times when a job with this key already waits. A later retry must not delay a
   * wake-up, and a wake-up must not wait for a retry.
   */
  readonly unlessSooner?: boolean;
}

/** Only moves run_at forward in time, so concurrent changes do no harm. */
async function bringForward(tx: Queryable, key: string, delayMs: number): Promise<void> {
  await tx.query(
    `UPDATE graphile_worker._private_jobs SET run_at = now() + make_interval(secs => $2)
      WHERE key = $1 AND locked_at IS NULL AND run_at > now() + make_interval(secs => $2)`,
    [key, delayMs / 1000],
  );
}

/** Enqueues one job per payload, each with its own key. */
export async function enqueueAll<Payload extends z.ZodType>(
  tx: Queryable,
  job: Job<Payload>,
  calls: readonly { readonly payload: z.input<Payload>; readonly key: string }[],
): Promise<void> {
  await tx.query(
    `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
       SELECT ($1, payload::json, NULL, now(), $2::smallint, key, NULL, NULL)::graphile_worker.job_spec
         FROM unnest($3::text[], $4::text[]) call (payload, key)))`,
    [job.name, job.maxAttempts, calls.map(({ payload }) => JSON.stringify(payload)), calls.map(({ key }) => key)],
  );
}
