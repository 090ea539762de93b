import { z } from 'zod';
import type { Database } from '../../kernel/db/database.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { forgetKeptBytes } from './keep-answer.ts';

const job = defineJob({ name: 'forget_purchase_answers', payload: z.unknown(), maxAttempts: 1 });

/** As long as an Idempotency-Key, so that replays find their answer. */
const keptHours = 48;

/** Small batches keep locks short. */
const chunk = 500;

export function forgetAnswersSchedule(db: Database): Schedule {
  return { at: '23 * * * *', handler: handleJob(job, () => forgetAnswers(db)) };
}

export async function forgetAnswers(db: Database): Promise<void> {
  await forgetKeptBytes(db);
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM purchase_answers WHERE purchase_id IN (
         SELECT purchase_id FROM purchase_answers WHERE kept_at < now() - make_interval(hours => $1) ORDER BY kept_at LIMIT $2)`,
      [keptHours, chunk],
    );
    if ((rowCount ?? 0) < chunk) return;
  }
}
