import type { OnKeyRotated, OnKeysEnded } from '../accounts/keys/on-keys-ended.ts';
import { requireUnfrozen } from '../accounts/keys/place.ts';
import { countToday } from '../kernel/daily-caps/count-today.ts';
import { onlyRow, type Queryable, type Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { newId } from '../kernel/ids/ids.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { webhookErrors } from './errors.ts';
import { closeFeed } from './feed.ts';
import { subscribe } from './subscribe.ts';

/** Lists the webhooks created with revoked keys, and ends them if requested. If all keys are revoked, it lists all webhooks. */
export const webhooksOfEndedKeys: OnKeysEnded = async (tx, { accountId, keys, webhooks }) => {
  const { rows } = await tx.query<{ id: string; url: string }>(
    `SELECT id, url FROM webhooks
      WHERE account_id = $1 AND status <> 'deleted' AND ($2::text[] IS NULL OR key_id = ANY ($2)) ORDER BY id DESC`,
    [accountId, keys === 'all' ? null : keys],
  );
  const ids = rows.map(({ id }) => id);
  if (webhooks === 'end' && keys === 'all') await closeFeed(tx, accountId);
  if (webhooks === 'end') await endWebhooks(tx, accountId, ids);
  return rows;
};

/** The webhooks of a rotated key belong to the new key, so that revoking the new key lists them. */
export const moveWebhooksOfKey: OnKeyRotated = async (tx, { accountId, from, to }) => {
  await tx.query('UPDATE webhooks SET key_id = $3 WHERE account_id = $1 AND key_id = ANY ($2)', [accountId, from, to]);
};

export type WebhookStatus = 'active' | 'disabled' | 'deleted';

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly status: WebhookStatus;
  readonly signed: boolean;
  readonly createdAt: Date;
}

export const selectWebhook =
  'SELECT id, url, events, status, sealed_secret IS NOT NULL AS signed, created_at FROM webhooks';

const mostPerAccount = 20;

export interface NewWebhook {
  readonly caller: Pick<Caller, 'accountId' | 'keyId' | 'tier'>;
  readonly url: string;
  readonly events: readonly string[];
  readonly secret: string | undefined;
}

/** From this commit on, its events are recorded. */
export async function createWebhook(
  tx: Transaction,
  secrets: Secrets,
  { caller, url, events, secret }: NewWebhook,
): Promise<Webhook> {
  const { accountId, keyId } = caller;
  await requireLiveKey(tx, caller);
  await requireUnfrozen(tx, caller);
  const { rows: present } = await tx.query(
    `SELECT FROM webhooks WHERE account_id = $1 AND status <> 'deleted' LIMIT ${mostPerAccount}`,
    [accountId],
  );
  if (present.length >= mostPerAccount) throw webhookErrors.too_many_webhooks();
  // Deleted webhooks stay for 30 days, so a daily cap limits their number.
  await countToday(tx, caller, 'webhooks');
  const id = newId('whk');
  const sealed = secret === undefined ? null : secrets.seal('webhook-secrets', secret);
  await tx.query(
    'INSERT INTO webhooks (id, account_id, key_id, url, events, sealed_secret) VALUES ($1, $2, $3, $4, $5, $6)',
    [id, accountId, keyId, url, [...new Set(events)], sealed],
  );
  await subscribe(tx, accountId);
  return onlyRow(await tx.query<Webhook>(`${selectWebhook} WHERE id = $1`, [id]));
}

/** The delivery loop fails its pending deliveries afterwards, in bounded steps. */
export async function deleteWebhook(tx: Transaction, accountId: bigint, id: string): Promise<void> {
  if ((await endWebhooks(tx, accountId, [id])) === 0) throw webhookErrors.webhook_not_found();
}

/** Returns how many of them were not deleted before. */
async function endWebhooks(tx: Transaction, accountId: bigint, ids: readonly string[]): Promise<number> {
  await holdWebhooks(tx, accountId);
  const { rowCount } = await tx.query(
    `UPDATE webhooks SET status = 'deleted', ended_at = now(), sealed_secret = NULL
      WHERE id = ANY ($1) AND account_id = $2 AND status <> 'deleted'`,
    [ids, accountId],
  );
  await subscribe(tx, accountId);
  return rowCount ?? 0;
}

/** For a receiver that answered 410. Returns whether the webhook was active. */
export async function disableWebhook(tx: Transaction, accountId: bigint, id: string): Promise<boolean> {
  await holdWebhooks(tx, accountId);
  const { rowCount } = await tx.query(
    "UPDATE webhooks SET status = 'disabled', ended_at = now() WHERE id = $1 AND account_id = $2 AND status = 'active'",
    [id, accountId],
  );
  if (rowCount === 0) return false;
  await subscribe(tx, accountId);
  return true;
}

export async function findWebhook(db: Queryable, accountId: bigint, id: string): Promise<Webhook> {
  const { rows } = await db.query<Webhook>(`${selectWebhook} WHERE id = $1 AND account_id = $2`, [id, accountId]);
  const [row] = rows;
  if (row === undefined || row.status === 'deleted') throw webhookErrors.webhook_not_found();
  return row;
}

/** Serializes changes per account. Postings do not wait for this lock. */
async function holdWebhooks(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}
