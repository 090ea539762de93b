import { z } from 'zod';
import { dailyCapErrors } from '../kernel/daily-caps/count-today.ts';
import type { Database, Queryable, ReadDatabase } from '../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { findRoute, idParameter } from '../kernel/http/find-route.ts';
import { listRoute } from '../kernel/http/list-route.ts';
import { untrusted } from '../kernel/http/untrusted.ts';
import type { RunOnce } from '../ledger/idempotency.ts';
import {
  type Attempt,
  attempt,
  type Delivery,
  delivery,
  deliveryStatuses,
  findDelivery,
  listDeliveries,
  retryDelivery,
} from './delivery.ts';
import { webhookErrors } from './errors.ts';

const deliveryExample: z.input<typeof delivery> = {
  id: 'dlv_01kp3v2m8rfk2s6y0e6v9q4w1x',
  webhookId: 'whk_01kp3v2m8rfk2s6y0e6v9q4w1x',
  eventId: 'evt_01kp3v2m8rfk2s6y0e6v9q4w1x',
  event: 'payment.received',
  status: 'delivered',
  responseCode: 200,
  attempts: 1,
  nextAttemptAt: null,
  error: null,
  durationMs: 84,
  createdAt: '2026-01-15T10:00:00.000Z',
  finishedAt: '2026-01-15T10:00:00.210Z',
};

export const pendingExample = { ...deliveryExample, status: 'pending', finishedAt: null } as const;

const deliveryDetail = delivery.extend({
  body: untrusted.meta({ description: 'The body that is sent, byte for byte.' }),
  attemptLog: z.array(attempt).meta({ description: 'Newest first.' }),
});

const exampleDetail: z.input<typeof deliveryDetail> = {
  ...deliveryExample,
  body: '{"id":"evt_01kp3v2m8rfk2s6y0e6v9q4w1x","type":"payment.received","createdAt":"2026-01-15T10:00:00.000Z","data":{"transferId":"trf_01kp3v2m8rfk2s6y0e6v9q4w1x","amount":50,"currency":"USDC","fee":0.75,"recipientAmount":49.25,"sender":{"handle":"PA-7Q2M9XK4","name":"Ada"},"recipient":{"handle":"PA-3F8K1ZT6","name":"Bob"}}}',
  attemptLog: [
    {
      number: 1,
      attemptedAt: '2026-01-15T10:00:00.120Z',
      durationMs: 84,
      responseCode: 200,
      error: null,
      responseBody: 'ok',
    },
  ],
};

interface DeliveryParts {
  readonly db: Database;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
}

export function deliveryRoutes({ db, readDb, once }: DeliveryParts): Route[] {
  return [logRoute(readDb), deliveryRoute(db), retryRoute(once)];
}

function logRoute(readDb: ReadDatabase): Route {
  return listRoute({
    id: 'listWebhookDeliveries',
    path: '/webhooks/deliveries',
    tag: 'Webhooks',
    summary: 'List webhook deliveries',
    description: 'The delivery log of your webhooks, kept for 30 days and at most the newest 20,000 deliveries.',
    name: 'deliveries',
    item: delivery,
    example: deliveryExample,
    filters: { webhookId: idParameter.optional(), status: z.enum(deliveryStatuses).optional() },
    rows: ({ accountId, webhookId, status, cursor, limit }) =>
      listDeliveries(readDb, { accountId, webhookId, status, before: cursor, most: limit + 1 }),
    describe: describeDelivery,
  });
}

function deliveryRoute(db: Queryable): Route {
  return findRoute({
    id: 'getWebhookDelivery',
    path: '/webhooks/deliveries/:id',
    tag: 'Webhooks',
    summary: 'Retrieve a delivery with its attempts',
    returns: 'The delivery',
    item: deliveryDetail,
    example: exampleDetail,
    notFound: webhookErrors.delivery_not_found,
    find: async (id, { accountId }) => {
      const { body, attemptLog, ...found } = await findDelivery(db, accountId, id);
      return { ...describeDelivery(found), body, attemptLog: attemptLog.map(describeAttempt) };
    },
  });
}

function retryRoute(once: RunOnce): Route {
  return defineRoute(
    {
      id: 'retryWebhookDelivery',
      method: 'POST',
      path: '/webhooks/deliveries/:id/retry',
      tag: 'Webhooks',
      summary: 'Retry a delivery',
      description: 'Sends the same event again, with all its retries, whether it was delivered or failed.',
      auth: 'key',
      scope: 'manage',
      params: z.strictObject({ id: idParameter }),
      examples: { params: { id: deliveryExample.id } },
      idempotent: true,
      returns: {
        200: {
          description: 'The pending delivery',
          schema: delivery,
          example: { ...pendingExample, nextAttemptAt: '2026-01-15T11:00:00.000Z' },
        },
      },
      errors: [
        webhookErrors.delivery_not_found,
        webhookErrors.delivery_pending,
        webhookErrors.webhook_inactive,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params, idempotency }) =>
      once({ caller, idempotency }, async (tx) => ok(describeDelivery(await retryDelivery(tx, caller, params.id)))),
  );
}

export function describeDelivery(row: Delivery): z.input<typeof delivery> {
  return {
    ...row,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}

function describeAttempt(row: Attempt): z.input<typeof attempt> {
  return { ...row, attemptedAt: row.attemptedAt.toISOString() };
}
