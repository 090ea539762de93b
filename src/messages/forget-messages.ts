import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';

const job = defineJob({ name: 'forget-messages', payload: z.unknown(), maxAttempts: 1 });

const keptDays = 30;

/** Small enough that no deletion holds its locks for long. */
const chunk = 5_000;

/** Once a day, because it reads the whole table when there is nothing to forget. */
export function forgetMessagesSchedule(db: Queryable): Schedule {
  return { at: '43 3 * * *', handler: handleJob(job, () => forgetMessages(db)) };
}

/** One that could not be sent in this time is not sent any more: its job has given up long before. */
export async function forgetMessages(db: Queryable): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM messages WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM messages WHERE created_at < now() - make_interval(days => $1) LIMIT $2))`,
      [keptDays, chunk],
    );
    if ((rowCount ?? 0) < chunk) return;
  }
}
