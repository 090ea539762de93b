import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';

const job = defineJob({ name: 'forget-messages', payload: z.unknown(), maxAttempts: 1 });

/** Once a day, because it scans the whole table. */
export function forgetMessagesSchedule(db: Queryable): Schedule {
  return { at: '43 3 * * *', handler: handleJob(job, () => forgetMessages(db)) };
}

/** An unsent message is deleted too: its job gave up long before. */
export async function forgetMessages(db: Queryable): Promise<void> {
  await deleteInChunks(db, { table: 'messages', where: "created_at < now() - interval '30 days'" });
}
