import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { forgetOldDays } from './take-today.ts';

const job = defineJob({ name: 'forget-daily-counts', payload: z.unknown(), maxAttempts: 1 });

export function forgetCountsSchedule(db: Queryable): Schedule {
  return { at: '37 * * * *', handler: handleJob(job, () => forgetOldDays(db)) };
}
