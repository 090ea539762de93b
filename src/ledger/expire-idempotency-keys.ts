import { z } from 'zod';
import type { Database } from '../kernel/db/database.ts';
import { defineJob, handleJob } from '../kernel/jobs/define-job.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';
import { forgetKeysOlderThan } from './forget-keys.ts';

const job = defineJob({ name: 'expire-idempotency-keys', payload: z.unknown(), maxAttempts: 1 });

/** Keys are promised for 24 hours. They are kept for 48, to allow for clocks that disagree. */
const keptMs = 48 * 60 * 60_000;

export function expireIdempotencyKeys(db: Database): Schedule {
  return {
    at: '17 * * * *',
    handler: handleJob(job, async () => {
      await forgetKeysOlderThan(db, keptMs);
    }),
  };
}
