import { countToday } from '../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { newId } from '../kernel/ids/ids.ts';
import { type DeliveryRow, deliveryColumns } from './delivery.ts';
import { webhookErrors } from './errors.ts';
import { bodyOf } from './payload.ts';
import { testEvent } from './test-event.ts';
import { findWebhook, type WebhookStatus } from './webhook.ts';

/** Replays a finished delivery: the same event, with a full set of retries. */
export async function retryDelivery(tx: Transaction, caller: Caller, id: string): Promise<DeliveryRow> {
  const { accountId } = caller;
  const { rows: found } = await tx.query<{ status: string; webhookStatus: WebhookStatus | null }>(
    `SELECT d.status, (SELECT w.status FROM webhooks w WHERE w.id = d.webhook_id) AS webhook_status
       FROM webhook_deliveries d WHERE d.account_id = $1 AND d.id = $2 FOR UPDATE`,
    [accountId, id],
  );
  const [delivery] = found;
  if (delivery === undefined) throw webhookErrors.delivery_not_found();
  if (delivery.webhookStatus !== 'active') throw webhookErrors.webhook_inactive();
  if (delivery.status === 'pending') throw webhookErrors.delivery_pending();
  await countToday(tx, caller, 'webhookRetries');
  const { rows } = await tx.query<DeliveryRow>(
    `UPDATE webhook_deliveries SET status = 'pending', due_at = now(), attempts_before = attempts, finished_at = NULL
      WHERE account_id = $1 AND id = $2 RETURNING ${deliveryColumns}`,
    [accountId, id],
  );
  return rows[0] as DeliveryRow;
}

/** Sends a test event, to try out a receiver. */
export async function sendTestEvent(tx: Transaction, caller: Caller, webhookId: string): Promise<DeliveryRow> {
  const { accountId } = caller;
  const webhook = await findWebhook(tx, accountId, webhookId);
  if (webhook.status !== 'active') throw webhookErrors.webhook_inactive();
  await countToday(tx, caller, 'webhookTests');
  const eventId = newId('evt');
  const createdAt = new Date();
  const body = bodyOf({ id: eventId, type: testEvent, createdAt, data: { webhookId, events: webhook.events } });
  const { rows } = await tx.query<DeliveryRow>(
    `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${deliveryColumns}`,
    [newId('dlv'), accountId, webhookId, eventId, testEvent, body, createdAt],
  );
  return rows[0] as DeliveryRow;
}
