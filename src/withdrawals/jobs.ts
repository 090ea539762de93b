import { z } from 'zod';
import type { Queryable, Transaction } from '../db/database.ts';
import { defineJob, enqueue, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';

/** One withdrawal, as far as it goes now. */
export const advanceWithdrawal = defineJob({
  name: 'advance_withdrawal',
  payload: z.object({ withdrawalId: z.string() }),
  maxAttempts: 25,
  lane: 'withdrawals',
});

const resumeWithdrawals = defineJob({ name: 'resume_withdrawals', payload: z.unknown(), maxAttempts: 1 });

/** Every minute those that nobody has looked at for a while get their job anew, whatever became of the old one. */
export function resumeWithdrawalsSchedule(db: Queryable): Schedule {
  return {
    at: '* * * * *',
    handler: handleJob(resumeWithdrawals, () => resume(db, { idleSeconds: 120 })),
  };
}

/** A process that was killed has left its jobs locked for a while; whoever starts takes them all up at once. */
export function resumeAllWithdrawals(db: Queryable): Promise<void> {
  return resume(db, { idleSeconds: 0 });
}

async function resume(db: Queryable, { idleSeconds }: { readonly idleSeconds: number }): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM withdrawals
      WHERE finished_at IS NULL AND status <> 'held' AND updated_at <= now() - make_interval(secs => $1)
      ORDER BY id LIMIT 1000`,
    [idleSeconds],
  );
  for (const { id } of rows) await enqueue(db, advanceWithdrawal, { withdrawalId: id }, { key: id });
}

/** The provider says that something has happened to its transaction: then it is looked at now and not a while later. */
export async function wakeWithdrawal(tx: Transaction, providerRef: string): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(
    "SELECT id FROM withdrawals WHERE provider_ref = $1 AND status = 'sending' AND finished_at IS NULL",
    [providerRef],
  );
  for (const { id } of rows) await enqueue(tx, advanceWithdrawal, { withdrawalId: id }, { key: id });
}
