import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { endApproval } from './approval.ts';

const expireJob = defineJob({ name: 'expire-approval', payload: z.object({ id: z.string() }), maxAttempts: 8 });

/** A second after its end by the database's clock. */
const lastsMs = 10 * 60_000 + 1_000;

export async function expireLater(tx: Transaction, id: string): Promise<void> {
  await enqueue(tx, expireJob, { id }, { delayMs: lastsMs });
}

/** In the caller's commit. Nothing happens to one that has ended, or whose time is not over. */
export async function expireApproval(tx: Transaction, id: string): Promise<void> {
  await endApproval(tx, { id, status: 'expired' });
}

export function expireHandler(db: Database): JobHandler {
  return handleJob(expireJob, ({ id }) => db.transaction((tx) => expireApproval(tx, id)));
}

const forgetJob = defineJob({ name: 'forget-approvals', payload: z.unknown(), maxAttempts: 1 });

/** The request of an approval and its facts name people, and are kept for a month. */
export function forgetApprovalsSchedule(db: Queryable): Schedule {
  return { at: '47 3 * * *', handler: handleJob(forgetJob, () => forgetApprovals(db)) };
}

export async function forgetApprovals(db: Queryable): Promise<void> {
  await deleteInChunks(db, { table: 'approvals', where: "created_at < now() - interval '30 days'" });
}
