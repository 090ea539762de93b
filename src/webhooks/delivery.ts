import { z } from 'zod';
import type { Clock } from '../kernel/clock.ts';
import { countToday } from '../kernel/daily-caps/count-today.ts';
import { onlyRow, type Queryable, type Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { untrusted } from '../kernel/http/untrusted.ts';
import { newId } from '../kernel/ids/ids.ts';
import { defineJob, handleJob } from '../kernel/jobs/define-job.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';
import { defineMetrics, gauge, type MetricSource, mostCounted } from '../kernel/metrics/metric.ts';
import { webhookErrors } from './errors.ts';
import { bodyOf } from './payload.ts';
import { findWebhook, type WebhookStatus } from './webhook.ts';

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
  const deleteAll = async (sql: string, ...values: unknown[]) => {
    while (clock.now() < deadline && (await db.query(sql, [...values, chunk])).rowCount === chunk);
  };
  for (const sql of deletions) await deleteAll(sql, before);
  const { rows } = await db.query<{ id: bigint }>(
    "SELECT id FROM accounts WHERE tier <> 'enterprise' AND id IN (SELECT account_id FROM webhooks)",
  );
  for (const { id } of rows) await deleteAll(deleteSurplus, id, keptPerAccount);
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

/** Sent only on request, whatever events the webhook is registered for. */
export const testEvent = 'webhook.test';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

export const delivery = z.object({
  id: z.string(),
  webhookId: z.string(),
  eventId: z
    .string()
    .meta({ description: 'The `id` in the body and the `webhook-id` header, the same for every attempt.' }),
  event: z.string(),
  status: z.enum(deliveryStatuses),
  responseCode: z.number().nullable().meta({ description: 'The status of the last response. Null if none came.' }),
  attempts: z.number(),
  nextAttemptAt: z.iso.datetime().nullable().meta({ description: 'Null if there will be no further attempt.' }),
  error: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
  durationMs: z.number().nullable().meta({ description: 'The duration of the last attempt.' }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

type DeliveryTimes = Record<'nextAttemptAt' | 'finishedAt', Date | null> & { readonly createdAt: Date };

export type Delivery = Omit<z.output<typeof delivery>, keyof DeliveryTimes> & DeliveryTimes;

/** During an attempt, the next attempt is the current one. */
const deliveryColumns = `id, webhook_id, event_id, event, status, response_code, duration_ms, error, attempts,
  CASE WHEN status = 'pending' THEN CASE WHEN claimed_until > now() THEN claimed_at ELSE due_at END END AS next_attempt_at,
  created_at, finished_at`;

export interface DeliveryQuery {
  readonly accountId: bigint;
  readonly webhookId: string | undefined;
  readonly status: Delivery['status'] | undefined;
  readonly before: string | undefined;
  readonly most: number;
}

/** Newest first. Each filter has its own index, so only the conditions in use are written. */
export async function listDeliveries(db: Queryable, query: DeliveryQuery): Promise<Delivery[]> {
  const values: unknown[] = [query.accountId, query.most];
  const conditions = ['account_id = $1'];
  const add = (condition: (place: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add((place) => `webhook_id = ${place}`, query.webhookId);
  add((place) => `id < ${place}`, query.before);
  // A literal, because a parameter would prevent the use of a partial index. The type admits only three words.
  if (query.status !== undefined) conditions.push(`status = '${query.status}'`);
  const { rows } = await db.query<Delivery>(
    `SELECT ${deliveryColumns} FROM webhook_deliveries WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    values,
  );
  return rows;
}

export const attempt = z.object({
  number: z.number(),
  attemptedAt: z.iso.datetime(),
  durationMs: z.number(),
  responseCode: z.number().nullable(),
  error: z.string().nullable(),
  responseBody: untrusted.nullable().meta({ description: 'The first 1024 bytes of the response body.' }),
});

export type Attempt = Omit<z.output<typeof attempt>, 'attemptedAt'> & { readonly attemptedAt: Date };

/** A delivery has more attempts only after many replays. */
const mostAttemptsShown = 100;

export async function findDelivery(db: Queryable, accountId: bigint, id: string) {
  const { rows } = await db.query<Delivery & { body: string }>(
    `SELECT ${deliveryColumns}, body FROM webhook_deliveries WHERE account_id = $1 AND id = $2`,
    [accountId, id],
  );
  const [found] = rows;
  if (found === undefined) throw webhookErrors.delivery_not_found();
  const { rows: attemptLog } = await db.query<Attempt>(
    `SELECT number, attempted_at, duration_ms, response_code, error, response_body FROM webhook_attempts
      WHERE delivery_id = $1 ORDER BY number DESC LIMIT ${mostAttemptsShown}`,
    [id],
  );
  return { ...found, attemptLog };
}

/** The backlog, counted on the partial index of pending deliveries. */
export function deliveryMetrics(db: Queryable): MetricSource {
  return defineMetrics({
    name: 'webhooks',
    metrics: {
      paywright_webhook_events_waiting: gauge('Events that have not become deliveries yet.'),
      paywright_webhook_deliveries_pending: gauge('Deliveries that have not ended, including retries.'),
      paywright_webhook_deliveries_due: gauge('Pending deliveries that are due now.'),
      paywright_webhook_deliveries_oldest_due_seconds: gauge('How long the oldest due delivery has been due.'),
    },
    maxAgeMs: 10_000,
    async read() {
      const { events, pending, due, oldest } = onlyRow(
        await db.query<{ events: number; pending: number; due: number; oldest: number }>(
          `SELECT (SELECT count(*) FROM (SELECT FROM ledger.events LIMIT $1) e)::int AS events, d.*
             FROM (SELECT count(*)::int AS pending, count(*) FILTER (WHERE due_at <= now())::int AS due,
                          greatest(coalesce(extract(epoch FROM now() - min(due_at)), 0), 0)::float8 AS oldest
                     FROM (SELECT due_at FROM webhook_deliveries WHERE status = 'pending' LIMIT $1) p) d`,
          [mostCounted],
        ),
      );
      return {
        paywright_webhook_events_waiting: events,
        paywright_webhook_deliveries_pending: pending,
        paywright_webhook_deliveries_due: due,
        paywright_webhook_deliveries_oldest_due_seconds: oldest,
      };
    },
  });
}

/** Replays a finished delivery: the same event, with a full set of retries. */
export async function retryDelivery(tx: Transaction, caller: Caller, id: string): Promise<Delivery> {
  const { accountId } = caller;
  const { rows: found } = await tx.query<{ status: string; webhookStatus: WebhookStatus | null }>(
    `SELECT d.status, (SELECT w.status FROM webhooks w WHERE w.id = d.webhook_id) AS webhook_status
       FROM webhook_deliveries d WHERE d.account_id = $1 AND d.id = $2 FOR UPDATE`,
    [accountId, id],
  );
  const [known] = found;
  if (known === undefined) throw webhookErrors.delivery_not_found();
  if (known.webhookStatus !== 'active') throw webhookErrors.webhook_inactive();
  if (known.status === 'pending') throw webhookErrors.delivery_pending();
  await countToday(tx, caller, 'webhookRetries');
  return onlyRow(
    await tx.query<Delivery>(
      `UPDATE webhook_deliveries SET status = 'pending', due_at = now(), attempts_before = attempts, finished_at = NULL
        WHERE account_id = $1 AND id = $2 RETURNING ${deliveryColumns}`,
      [accountId, id],
    ),
  );
}

/** Sends a test event, to try out a receiver. */
export async function sendTestEvent(tx: Transaction, caller: Caller, webhookId: string): Promise<Delivery> {
  const { accountId } = caller;
  const webhook = await findWebhook(tx, accountId, webhookId);
  if (webhook.status !== 'active') throw webhookErrors.webhook_inactive();
  await countToday(tx, caller, 'webhookTests');
  const eventId = newId('evt');
  const createdAt = new Date();
  const body = bodyOf({ id: eventId, type: testEvent, createdAt, data: { webhookId, events: webhook.events } });
  return onlyRow(
    await tx.query<Delivery>(
      `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${deliveryColumns}`,
      [newId('dlv'), accountId, webhookId, eventId, testEvent, body, createdAt],
    ),
  );
}
