import { z } from 'zod';
import type { Clock } from '../kernel/clock.ts';
import type { Queryable } from '../kernel/db/database.ts';
import { defineJob, handleJob } from '../kernel/jobs/define-job.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';

const job = defineJob({ name: 'forget-webhook-deliveries', payload: z.unknown(), maxAttempts: 1 });

const keptMs = 30 * 24 * 60 * 60_000;

/** The newest of each account. A free event costs one row per webhook, so the number has to be limited. */
const keptPerAccount = 20_000;

/** Small enough that no deletion blocks other queries for long. */
const chunk = 5_000;

/** A job may take half a minute; the next run, ten minutes later, continues. */
const longestMs = 15_000;

/**
 * Keeps the delivery log for 30 days, and at most 20,000 deliveries per account below the enterprise tier. Pending deliveries are
 * never deleted.
 */
export function forgetDeliveriesSchedule(db: Queryable, clock: Clock): Schedule {
  return { at: '*/10 * * * *', handler: handleJob(job, () => forgetDeliveries(db, clock)) };
}

export async function forgetDeliveries(db: Queryable, clock: Clock): Promise<void> {
  const before = new Date(clock.now() - keptMs);
  const deadline = clock.now() + longestMs;
  for (const sql of deletions) {
    while (clock.now() < deadline) {
      const { rowCount } = await db.query(sql, [before, chunk]);
      if ((rowCount ?? 0) < chunk) break;
    }
  }
  const { rows } = await db.query<{ id: bigint }>(
    "SELECT id FROM accounts WHERE tier <> 'enterprise' AND id IN (SELECT account_id FROM webhooks)",
  );
  for (const { id } of rows) {
    while (clock.now() < deadline) {
      const { rowCount } = await db.query(deleteSurplus, [id, keptPerAccount, chunk]);
      if ((rowCount ?? 0) < chunk) break;
    }
  }
}

const deleteSurplus = `
  WITH surplus AS (
    SELECT id FROM webhook_deliveries
     WHERE account_id = $1 AND status <> 'pending' AND id < (
       SELECT id FROM webhook_deliveries WHERE account_id = $1 ORDER BY id DESC OFFSET $2 - 1 LIMIT 1)
     ORDER BY id LIMIT $3),
  attempts AS (DELETE FROM webhook_attempts WHERE delivery_id IN (SELECT id FROM surplus))
  DELETE FROM webhook_deliveries WHERE account_id = $1 AND id IN (SELECT id FROM surplus) AND status <> 'pending'`;

const deletions = [
  `DELETE FROM webhook_attempts WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM webhook_attempts WHERE attempted_at < $1 LIMIT $2))`,
  `DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM webhook_deliveries WHERE created_at < $1 AND status <> 'pending' LIMIT $2))
     AND status <> 'pending'`,
  `DELETE FROM webhooks WHERE id = ANY (ARRAY(
     SELECT w.id FROM webhooks w WHERE w.status = 'deleted' AND w.ended_at < $1
        AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id) LIMIT $2))`,
];
