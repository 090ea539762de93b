import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, within } from '../kernel/clock.ts';
import { type Database, isUnavailable } from '../kernel/db/database.ts';
import { createErrorReporter } from '../kernel/jobs/error-reporter.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Claimed } from './claim.ts';
import type { Attempt } from './delivery.ts';
import { goneCode, type NextStep } from './retry-plan.ts';
import { disableWebhook } from './webhook.ts';

export interface Attempted extends Omit<Attempt, 'number'> {
  readonly delivery: Claimed;
  readonly next: NextStep;
}

/**
 * Records many attempts in one statement. It skips deliveries whose lease was lost, because another process has attempted them
 * since.
 */
export async function recordResults(db: Database, results: readonly Attempted[]): Promise<void> {
  await disableGone(db, results);
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

export interface RecorderOptions {
  write(results: readonly Attempted[]): Promise<void>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** After this time the lease has expired, and the result no longer counts. */
  readonly keepMs: number;
}

export interface Recorder {
  /** Results not recorded yet. */
  readonly waiting: number;
  add(result: Attempted): void;
  /** Resolves when everything is recorded, or after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

const mostPerWrite = 200;
const gatherMs = 10;
const retryMs = 250;

/** Collects results while the previous batch is written, so that under load one commit records many. */
export function createRecorder({ write, logger, clock, keepMs }: RecorderOptions): Recorder {
  const trouble = createErrorReporter(logger, {}, 'delivery results cannot be recorded');
  const gathered: { readonly result: Attempted; readonly until: number }[] = [];
  let writing: Promise<void> | undefined;
  let ended = false;

  async function writeAll(): Promise<void> {
    if (gathered.length < mostPerWrite) await sleep(gatherMs);
    while (gathered.length > 0 && !ended) {
      const batch = gathered.slice(0, mostPerWrite).filter(({ until }) => clock.now() <= until);
      const taken = Math.min(gathered.length, mostPerWrite);
      try {
        if (batch.length > 0) await write(batch.map(({ result }) => result));
        gathered.splice(0, taken);
        trouble.over();
      } catch (error) {
        trouble.report(error);
        if (isUnavailable(error)) await sleep(retryMs);
        else await writeOneByOne(gathered.splice(0, taken));
      }
    }
    writing = undefined;
  }

  /** A result that the database rejects must not block the others. */
  async function writeOneByOne(batch: readonly { readonly result: Attempted }[]): Promise<void> {
    for (const { result } of batch) {
      await write([result]).catch((err: unknown) => {
        logger.error({ err, delivery: result.delivery.id }, 'a delivery result could not be recorded');
      });
    }
  }

  return {
    get waiting() {
      return gathered.length;
    },
    add(result) {
      gathered.push({ result, until: clock.now() + keepMs });
      writing ??= writeAll();
    },
    async drain(graceMs) {
      await within(graceMs, Promise.resolve(writing), () => {});
      ended = true;
    },
  };
}
