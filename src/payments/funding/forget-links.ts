import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';

const job = defineJob({ name: 'forget-funding-links', payload: z.unknown(), maxAttempts: 1 });

export function forgetLinksSchedule(db: Queryable): Schedule {
  return { at: '29 * * * *', handler: handleJob(job, () => forgetLinks(db)) };
}

/** Deletes links that were never paid. A link stays if a deposit completed it or a card company reported a payment. */
export async function forgetLinks(db: Queryable): Promise<void> {
  await deleteInChunks(db, {
    table: 'funding_links',
    where: `completed_at IS NULL AND seen_tx IS NULL AND expires_at < now() - interval '90 days'
      AND NOT EXISTS (SELECT FROM funding_card_payments c WHERE c.link_id = funding_links.id)`,
  });
}
