import { randomUUID } from 'node:crypto';
import type { Queryable } from '../kernel/db/database.ts';
import type { WebhookStatus } from './webhook.ts';

export interface DueWebhook {
  readonly id: string;
  readonly accountId: bigint;
  readonly url: string;
  readonly sealedSecret: Buffer | null;
  readonly status: WebhookStatus;
}

const webhooksPerStep = 500;

/**
 * Finds webhooks with due deliveries, in the order of their ids. The recursive query jumps from one webhook to the next in the
 * index, so its cost does not depend on the number of pending deliveries. `next` is undefined at the end. `nextInMs` is when
 * the next of their deliveries becomes due, if none is now.
 */
export async function findDueWebhooks(db: Queryable, after: string) {
  const { rows } = await db.query<DueWebhook & { readonly act: boolean; readonly inMs: number | null }>(
    `WITH RECURSIVE waiting (webhook_id, step) AS (
       SELECT (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' AND d.webhook_id > $1
                ORDER BY d.webhook_id LIMIT 1), 1
       UNION ALL
       SELECT (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' AND d.webhook_id > w.webhook_id
                ORDER BY d.webhook_id LIMIT 1), w.step + 1
         FROM waiting w WHERE w.webhook_id IS NOT NULL AND w.step < $2)
     SELECT n.webhook_id AS id, coalesce(w.account_id, 0) AS account_id, w.url, w.sealed_secret, coalesce(w.status, 'deleted') AS status,
            w.status IS DISTINCT FROM 'active' OR f.due_at <= now() AS act,
            extract(epoch FROM f.due_at - now())::float8 * 1000 AS in_ms
       FROM waiting n LEFT JOIN webhooks w ON w.id = n.webhook_id
       LEFT JOIN LATERAL (
         SELECT d.due_at FROM webhook_deliveries d WHERE d.webhook_id = n.webhook_id AND d.status = 'pending'
          ORDER BY d.due_at LIMIT 1) f ON true
      WHERE n.webhook_id IS NOT NULL ORDER BY n.step`,
    [after, webhooksPerStep],
  );
  const waits = rows.flatMap(({ inMs }) => (inMs === null ? [] : [inMs]));
  return {
    due: rows.filter(({ act }) => act),
    nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
    next: rows.length === webhooksPerStep ? rows.at(-1)?.id : undefined,
  };
}

/** A delivery that this process has leased. */
export interface Claimed {
  readonly id: string;
  readonly accountId: bigint;
  readonly webhookId: string;
  readonly claimId: string;
  readonly eventId: string;
  readonly body: string;
  /** Since it was created or replayed, without the attempt to come. */
  readonly attemptsMade: number;
}

/**
 * Leases due deliveries, up to a number per webhook. When a lease expires, its process has presumably died and any process may
 * claim the delivery again.
 */
export async function claimDeliveries(
  db: Queryable,
  wanted: readonly { readonly webhookId: string; readonly most: number }[],
  leaseMs: number,
): Promise<Claimed[]> {
  const { rows } = await db.query<Claimed>(
    `UPDATE webhook_deliveries d
        SET claim_id = $1, claimed_at = now(), claimed_until = now() + make_interval(secs => $2)
      WHERE d.ctid = ANY (ARRAY(
        SELECT p.place
          FROM unnest($3::text[], $4::integer[]) w (webhook_id, most)
         CROSS JOIN LATERAL (
           SELECT p.ctid AS place FROM webhook_deliveries p
            WHERE p.webhook_id = w.webhook_id AND p.status = 'pending' AND p.due_at <= now()
              AND (p.claimed_until IS NULL OR p.claimed_until <= now())
            ORDER BY p.due_at LIMIT w.most FOR UPDATE SKIP LOCKED) p))
      RETURNING d.id, d.account_id, d.webhook_id, d.claim_id, d.event_id, d.body, d.attempts - d.attempts_before AS attempts_made`,
    [randomUUID(), leaseMs / 1_000, wanted.map(({ webhookId }) => webhookId), wanted.map(({ most }) => most)],
  );
  return rows;
}

/** Releases leases of deliveries that were not attempted, so that they need not expire. */
export async function releaseClaims(db: Queryable, claimed: readonly Claimed[]): Promise<void> {
  if (claimed.length === 0) return;
  await db.query(
    `UPDATE webhook_deliveries d SET claim_id = NULL, claimed_at = NULL, claimed_until = NULL
       FROM unnest($1::bigint[], $2::text[], $3::uuid[]) c (account_id, id, claim_id)
      WHERE d.account_id = c.account_id AND d.id = c.id AND d.claim_id = c.claim_id`,
    [claimed.map(({ accountId }) => accountId), claimed.map(({ id }) => id), claimed.map(({ claimId }) => claimId)],
  );
}

const closedPerStep = 1_000;

/** Fails the pending deliveries of an inactive webhook, a bounded number at a time. Attempts in progress end by themselves. */
export async function closeDeliveries(db: Queryable, { id, status }: DueWebhook): Promise<{ readonly more: boolean }> {
  const reason = status === 'disabled' ? 'The receiver answered 410 Gone.' : 'The webhook was deleted.';
  const { rowCount } = await db.query(
    `UPDATE webhook_deliveries d
        SET status = 'failed', finished_at = now(), error = $2, claim_id = NULL, claimed_at = NULL, claimed_until = NULL
      WHERE d.ctid = ANY (ARRAY(
        SELECT p.ctid FROM webhook_deliveries p
         WHERE p.webhook_id = $1 AND p.status = 'pending' AND (p.claimed_until IS NULL OR p.claimed_until <= now())
         LIMIT ${closedPerStep} FOR UPDATE SKIP LOCKED))`,
    [id, reason],
  );
  return { more: rowCount === closedPerStep };
}
