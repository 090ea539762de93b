import type { Database, Queryable } from '../kernel/db/database.ts';
import type { Claimed } from './claim.ts';
import { goneCode, type NextStep } from './retry-plan.ts';
import { disableWebhook } from './webhook.ts';

export interface Attempted {
  readonly delivery: Claimed;
  readonly attemptedAt: Date;
  readonly durationMs: number;
  readonly responseCode: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
  readonly next: NextStep;
}

/**
 * Records many attempts in one statement. It skips deliveries whose lease was lost, because another process has attempted them
 * since.
 */
export async function recordResults(db: Database, results: readonly Attempted[]): Promise<void> {
  await disableGone(db, results);
  await write(db, results);
}

async function write(db: Queryable, results: readonly Attempted[]): Promise<void> {
  await db.query(
    `WITH given AS (
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::float8[], $6::timestamptz[], $7::integer[],
           $8::integer[], $9::text[], $10::text[])
         g (account_id, id, claim_id, status, after_seconds, attempted_at, duration_ms, response_code, error, response_body)),
     done AS (
       UPDATE webhook_deliveries d
          SET status = g.status, due_at = coalesce(now() + g.after_seconds * interval '1 second', d.due_at),
              finished_at = CASE WHEN g.status <> 'pending' THEN now() END,
              claim_id = NULL, claimed_at = NULL, claimed_until = NULL, attempts = d.attempts + 1,
              response_code = g.response_code, duration_ms = g.duration_ms, error = g.error
         FROM given g
        WHERE d.account_id = g.account_id AND d.id = g.id AND d.claim_id = g.claim_id AND d.status = 'pending'
        RETURNING d.id, d.attempts, g.attempted_at, g.duration_ms, g.response_code, g.error, g.response_body)
     INSERT INTO webhook_attempts (delivery_id, number, attempted_at, duration_ms, response_code, error, response_body)
     SELECT * FROM done`,
    [
      results.map(({ delivery }) => delivery.accountId),
      results.map(({ delivery }) => delivery.id),
      results.map(({ delivery }) => delivery.claimId),
      results.map(({ next }) => next.status),
      results.map(({ next }) => (next.status === 'pending' ? next.afterSeconds : null)),
      results.map(({ attemptedAt }) => attemptedAt.toISOString()),
      results.map(({ durationMs }) => Math.round(durationMs)),
      results.map(({ responseCode }) => responseCode),
      results.map(({ error }) => error),
      results.map(({ responseBody }) => responseBody),
    ],
  );
}

/** Runs first, so that a delivery that failed with 410 is never seen with an active webhook. */
async function disableGone(db: Database, results: readonly Attempted[]): Promise<void> {
  const gone = new Map(
    results
      .filter(({ responseCode }) => responseCode === goneCode)
      .map(({ delivery: { webhookId, accountId } }) => [webhookId, accountId]),
  );
  for (const [webhookId, accountId] of gone) await db.transaction((tx) => disableWebhook(tx, accountId, webhookId));
}
