import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';

const job = defineJob({ name: 'expire-idempotency-keys', payload: z.unknown(), maxAttempts: 1 });

/** Keys are promised for 24 hours; they are kept for 48, so that nobody is caught by a clock. */
export function expireIdempotencyKeys(db: Database): Schedule {
  return {
    at: '17 * * * *',
    handler: handleJob(job, async () => {
      await db.query("DELETE FROM idempotency_keys WHERE created_at < now() - interval '48 hours'");
    }),
  };
}
