import { z } from 'zod';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Reserves } from './reserves.ts';

const job = defineJob({ name: 'snapshot-reserves', payload: z.unknown(), maxAttempts: 1 });

/**
 * Every hour. The job only starts the snapshot: with many accounts it takes longer than a job may, and a job ended for
 * that would report a failure although the snapshot is published.
 */
export function snapshotSchedule(reserves: Reserves): Schedule {
  return { at: '7 * * * *', handler: handleJob(job, () => reserves.beginSnapshot()) };
}
