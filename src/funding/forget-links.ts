import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';

const job = defineJob({ name: 'forget-funding-links', payload: z.unknown(), maxAttempts: 1 });

const keptDays = 90;

/** Small enough that no deletion holds its locks for long. */
const chunk = 5_000;

export function forgetLinksSchedule(db: Queryable): Schedule {
  return { at: '29 * * * *', handler: handleJob(job, () => forgetLinks(db)) };
}

/** Deletes links that were never paid. A link stays when a deposit has completed it, or when a card company has reported a payment. */
export async function forgetLinks(db: Queryable): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM funding_links WHERE completed_at IS NULL AND seen_tx IS NULL AND id = ANY (ARRAY(
         SELECT l.id FROM funding_links l
          WHERE l.completed_at IS NULL AND l.seen_tx IS NULL AND l.expires_at < now() - make_interval(days => $1)
            AND NOT EXISTS (SELECT FROM funding_card_payments c WHERE c.link_id = l.id) LIMIT $2))`,
      [keptDays, chunk],
    );
    if ((rowCount ?? 0) < chunk) return;
  }
}
