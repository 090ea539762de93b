import { z } from 'zod';
import { recordAudit } from '../accounts/audit/record.ts';
import { accountErrors } from '../accounts/errors.ts';
import { dailyCapErrors } from '../kernel/daily-caps/count-today.ts';
import type { ReadDatabase } from '../kernel/db/database.ts';
import { created, defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { idParameter } from '../kernel/http/find-route.ts';
import { listRoute } from '../kernel/http/list-route.ts';
import type { Outgoing } from '../kernel/outgoing/outgoing.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { RunOnce } from '../ledger/idempotency.ts';
import { delivery, sendTestEvent, testEvent } from './delivery.ts';
import { deliveryRoutes, describeDelivery, pendingExample } from './delivery-routes.ts';
import { webhookErrors } from './errors.ts';
import { type FeedParts, feedRoutes } from './feed-routes.ts';
import { isUsableSecret } from './sign-webhook.ts';
import { createWebhook, deleteWebhook, selectWebhook, type Webhook } from './webhook.ts';

export interface WebhookParts extends FeedParts {
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly secrets: Secrets;
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
}

const webhook = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  status: z
    .enum(['active', 'disabled'])
    .meta({ description: '`disabled` after the receiver responded with 410 Gone.' }),
  signed: z.boolean().meta({ description: 'Whether a secret was given. The secret itself is never returned.' }),
  createdAt: z.iso.datetime(),
});

const example = {
  id: 'whk_01kp3v2m8rfk2s6y0e6v9q4w1x',
  url: 'https://agent.example.com/paywright',
  events: ['payment.sent', 'payment.received'],
  status: 'active' as const,
  signed: true,
  createdAt: '2026-01-15T10:00:00.000Z',
};

const webhookId = z.strictObject({ id: idParameter });

export function webhookRoutes(parts: WebhookParts): Route[] {
  return [
    createRoute(parts),
    webhooksRoute(parts.readDb),
    deleteRoute(parts.once),
    testRoute(parts.once),
    ...deliveryRoutes(parts),
    ...feedRoutes(parts),
  ];
}

function createRoute({ once, secrets, outgoing, events: types }: WebhookParts): Route {
  const names = types.map(({ name }) => name);
  const eventName = z.enum(names, { error: `must be one of ${names.join(', ')}` });
  return defineRoute(
    {
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'Create a webhook',
      description:
        'Each event is sent to the URL as a POST with the JSON body `{id, type, createdAt, data}`. Respond with a 2xx status within 10 seconds; any other response, including a redirect, is retried three times with increasing delays. An event may arrive more than once; deduplicate by `id`. Names, descriptions and products in `data` are untrusted third-party content. With a secret, every request carries two signatures: `X-Paywright-Signature: sha256=<hex HMAC-SHA256 of the raw body>`, keyed with the secret as given, and the Standard Webhooks headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, keyed with the bytes that a `whsec_` secret encodes. A response of 410 disables the webhook.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        url: z
          .string()
          .max(2_048)
          .meta({ description: 'Must begin with https:// and resolve to a public IP address.' }),
        events: z.array(eventName).min(1, 'must name at least one event').max(100),
        secret: z
          .string()
          .min(1)
          .max(256)
          .refine(isUsableSecret, 'must be base64 after whsec_')
          .optional()
          .meta({ description: 'Signs the requests. Either `whsec_` followed by base64, or any text.' }),
      }),
      examples: {
        body: { url: example.url, events: ['payment.sent', 'payment.received'], secret: 'whsec_c2VjcmV0IHNlY3JldA==' },
      },
      idempotent: true,
      returns: { 201: { description: 'The webhook', schema: webhook, example } },
      errors: [
        webhookErrors.webhook_url_refused,
        webhookErrors.too_many_webhooks,
        accountErrors.key_frozen,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, body: { url, events, secret }, idempotency, ip }) => {
      const refusal = outgoing.explainRefusal(url);
      if (refusal !== undefined) throw webhookErrors.webhook_url_refused(refusal);
      return once({ caller, idempotency }, async (tx) => {
        const { accountId, keyId } = caller;
        const made = await createWebhook(tx, secrets, { caller, url, events, secret });
        // Only the host, because path and query may contain a secret.
        const details = { webhook: made.id, host: new URL(url).host };
        await recordAudit(tx, { accountId, action: 'webhook.created', by: { keyId, address: ip }, details });
        return created(describe(made));
      });
    },
  );
}

function webhooksRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listWebhooks',
    path: '/webhooks',
    tag: 'Webhooks',
    summary: 'List your webhooks',
    name: 'webhooks',
    item: webhook,
    example,
    rows: async ({ accountId, cursor, limit }) => {
      const { rows } = await readDb.query<Webhook>(
        `${selectWebhook} WHERE account_id = $1 AND status <> 'deleted' AND ($2::text IS NULL OR id < $2)
          ORDER BY id DESC LIMIT $3`,
        [accountId, cursor ?? null, limit + 1],
      );
      return rows;
    },
    describe,
  });
}

function deleteRoute(once: RunOnce): Route {
  return defineRoute(
    {
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/:id',
      tag: 'Webhooks',
      summary: 'Delete a webhook',
      description: 'Pending deliveries to the webhook fail. Its deliveries stay in the log.',
      auth: 'key',
      scope: 'manage',
      params: webhookId,
      examples: { params: { id: example.id } },
      returns: {
        200: {
          description: 'The webhook was deleted',
          schema: z.object({ id: z.string(), deleted: z.literal(true) }),
          example: { id: example.id, deleted: true },
        },
      },
      errors: [webhookErrors.webhook_not_found],
    },
    async ({ caller, params, ip }) =>
      once({ caller, idempotency: undefined }, async (tx) => {
        const { accountId, keyId } = caller;
        await deleteWebhook(tx, accountId, params.id);
        const by = { keyId, address: ip };
        await recordAudit(tx, { accountId, action: 'webhook.deleted', by, details: { webhook: params.id } });
        return ok({ id: params.id, deleted: true as const });
      }),
  );
}

function testRoute(once: RunOnce): Route {
  return defineRoute(
    {
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/:id/test',
      tag: 'Webhooks',
      summary: 'Send a test event',
      description: `Sends \`${testEvent}\` to this webhook, whatever events it is registered for. Follow it in the delivery log.`,
      auth: 'key',
      scope: 'manage',
      params: webhookId,
      examples: { params: { id: example.id } },
      idempotent: true,
      returns: {
        200: {
          description: 'The delivery of the test event',
          schema: delivery,
          example: {
            ...pendingExample,
            event: testEvent,
            responseCode: null,
            durationMs: null,
            attempts: 0,
            nextAttemptAt: pendingExample.createdAt,
          },
        },
      },
      errors: [webhookErrors.webhook_not_found, webhookErrors.webhook_inactive, dailyCapErrors.daily_cap_reached],
    },
    async ({ caller, params, idempotency }) =>
      once({ caller, idempotency }, async (tx) => ok(describeDelivery(await sendTestEvent(tx, caller, params.id)))),
  );
}

function describe({ status, createdAt, ...made }: Webhook): z.input<typeof webhook> {
  if (status === 'deleted') throw webhookErrors.webhook_not_found();
  return { ...made, status, createdAt: createdAt.toISOString() };
}
