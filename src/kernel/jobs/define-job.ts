import type { z } from 'zod';
import type { Queryable } from '../db/database.ts';

/** A piece of work that runs outside a request, as often as it takes. Whatever it does, it must bear being run again. */
export interface Job<Payload extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly payload: Payload;
  readonly maxAttempts: number;
  /**
   * Jobs of one lane share slots that no other lane can take, so whatever one waits for, it keeps up its own lane alone.
   * Without a lane of its own a job is in the general one, and what runs by the clock in that of the schedules.
   */
  readonly lane?: string;
}

export function defineJob<Payload extends z.ZodType>(job: Job<Payload>): Job<Payload> {
  return job;
}

/** A job and the code that runs it; the composition root pairs them, because the code needs what a job cannot carry. */
export interface JobHandler {
  readonly job: Job;
  run(payload: unknown): Promise<void>;
}

export function handleJob<Payload extends z.ZodType>(
  job: Job<Payload>,
  run: (payload: z.output<Payload>) => Promise<void>,
): JobHandler {
  return { job, run: (payload) => withinTime(job, run(job.payload.parse(payload))) };
}

/** A job does one step. What takes longer has failed, and is tried again. */
export const jobTimeoutMs = 30_000;

async function withinTime(job: Job, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${job.name} took longer than ${jobTimeoutMs} ms`)), jobTimeoutMs);
  });
  await Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}

/** Enqueues inside the caller's transaction: the job exists exactly when the commit does. */
export async function enqueue<Payload extends z.ZodType>(
  tx: Queryable,
  job: Job<Payload>,
  payload: z.input<Payload>,
  { delayMs = 0, key, unlessSooner = false }: EnqueueOptions = {},
): Promise<void> {
  if (unlessSooner && key !== undefined) await bringForward(tx, key, delayMs);
  await tx.query(
    `SELECT graphile_worker.add_job($1, $2::json, max_attempts => $3, run_at => now() + make_interval(secs => $4),
        job_key => $5, job_key_mode => $6)`,
    [
      job.name,
      JSON.stringify(payload),
      job.maxAttempts,
      delayMs / 1000,
      key ?? null,
      unlessSooner ? 'preserve_run_at' : 'replace',
    ],
  );
}

export interface EnqueueOptions {
  readonly delayMs?: number;
  /** Of several waiting jobs with one key only the newest remains. */
  readonly key?: string;
  /**
   * Of one that waits already and this one the sooner time counts: whoever looks again later must not put off who was just
   * woken, and whoever looks again soon must not wait for somebody who looked in vain before.
   */
  readonly unlessSooner?: boolean;
}

/** Never later: so it does not matter who else changes it at the same time. */
async function bringForward(tx: Queryable, key: string, delayMs: number): Promise<void> {
  await tx.query(
    `UPDATE graphile_worker._private_jobs SET run_at = now() + make_interval(secs => $2)
      WHERE key = $1 AND locked_at IS NULL AND run_at > now() + make_interval(secs => $2)`,
    [key, delayMs / 1000],
  );
}

/** The same job for many payloads at once, each with a key of its own. */
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
