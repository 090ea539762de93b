import { z } from 'zod';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import type { Reserves } from './reserves.ts';

const job = defineJob({ name: 'snapshot-reserves', payload: z.unknown(), maxAttempts: 1 });

/** Every hour. One that takes longer than a job may goes on by itself: nothing else waits for it. */
export function snapshotSchedule(reserves: Reserves): Schedule {
  return { at: '7 * * * *', handler: handleJob(job, () => reserves.snapshot()) };
}
