import type { Queryable } from '../kernel/db/database.ts';
import { webhookErrors } from './errors.ts';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryRow {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly status: DeliveryStatus;
  readonly responseCode: number | null;
  readonly durationMs: number | null;
  readonly error: string | null;
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** During an attempt, the next attempt is the current one. */
export const deliveryColumns = `id, webhook_id, event_id, event, status, response_code, duration_ms, error, attempts,
  CASE WHEN status = 'pending' THEN CASE WHEN claimed_until > now() THEN claimed_at ELSE due_at END END AS next_attempt_at,
  created_at, finished_at`;

export interface DeliveryQuery {
  readonly accountId: bigint;
  readonly webhookId: string | undefined;
  readonly status: DeliveryStatus | undefined;
  readonly before: string | undefined;
  readonly most: number;
}

/** Newest first. Each filter has its own index, so only the conditions in use are written. */
export async function listDeliveries(db: Queryable, query: DeliveryQuery): Promise<DeliveryRow[]> {
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
  const { rows } = await db.query<DeliveryRow>(
    `SELECT ${deliveryColumns} FROM webhook_deliveries WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    values,
  );
  return rows;
}

export interface AttemptRow {
  readonly number: number;
  readonly attemptedAt: Date;
  readonly durationMs: number;
  readonly responseCode: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
}

export interface WholeDelivery {
  readonly delivery: DeliveryRow;
  readonly body: string;
  readonly attempts: readonly AttemptRow[];
}

/** A delivery has more attempts only after many replays. */
const mostAttemptsShown = 100;

export async function findDelivery(db: Queryable, accountId: bigint, id: string): Promise<WholeDelivery> {
  const { rows } = await db.query<DeliveryRow & { body: string }>(
    `SELECT ${deliveryColumns}, body FROM webhook_deliveries WHERE account_id = $1 AND id = $2`,
    [accountId, id],
  );
  const [delivery] = rows;
  if (delivery === undefined) throw webhookErrors.delivery_not_found();
  const attempts = await db.query<AttemptRow>(
    `SELECT number, attempted_at, duration_ms, response_code, error, response_body FROM webhook_attempts
      WHERE delivery_id = $1 ORDER BY number DESC LIMIT ${mostAttemptsShown}`,
    [id],
  );
  return { delivery, body: delivery.body, attempts: attempts.rows };
}
