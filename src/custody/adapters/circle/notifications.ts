import { verify } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../../kernel/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { networksOf } from '../../../kernel/http/client-address.ts';
import { httpErrors } from '../../../kernel/http/errors.ts';
import { parseJsonBody } from '../../../kernel/http/parse-body.ts';
import { defineErrors } from '../../../kernel/http/problem.ts';
import { addressOf, countsFailures } from '../../../kernel/http/request-guards.ts';
import { defineJob, handleJob } from '../../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../../kernel/jobs/worker.ts';
import { ProviderError } from '../../wallets/provider.ts';
import type { CircleProvider } from './circle-provider.ts';
import { createNotificationKeys, type NotificationKeys } from './notification-keys.ts';

export interface NotificationParts {
  readonly db: Database;
  readonly provider: Pick<CircleProvider, 'notificationKey'>;
  /**
   * This Circle transaction may have changed. A notification is only a hint: the receiver looks the transaction up.
   * Writes with `tx` commit together with the notification.
   */
  readonly onTransaction: (transactionId: string, tx: Transaction) => Promise<void>;
}

const notificationsPath = '/api/circle/notifications';

const bodyLimitBytes = 64 * 1024;

/** One error for every fault of a signature, so that attackers learn nothing from it. */
const notificationErrors = defineErrors({
  invalid_signature: {
    status: 401,
    title: 'Not signed by Circle',
    detail: 'A notification must carry the signature of Circle over the exact bytes of its body.',
  },
});

const notification = z.object({
  notificationId: z.guid(),
  notificationType: z.string(),
  notification: z.unknown(),
});
const transactionHint = z.object({ id: z.guid() });
const transactionTypes = new Set(['transactions.outbound', 'transactions.inbound']);

/**
 * Receives Circle's notifications. Add it to the app itself: Circle has no API key, and only its failures count against
 * the rate limit.
 */
export function addCircleNotifications(app: FastifyInstance, { db, provider, onTransaction }: NotificationParts): void {
  const keys = createNotificationKeys({ fetch: (id) => provider.notificationKey(id) });

  app.register(async (scope) => {
    // The signature covers the raw bytes, so no parser may run before us.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyLimitBytes }, (_request, bytes, done) => {
      done(null, bytes);
    });

    // Circle checks with HEAD that the address exists before accepting it.
    scope.head(notificationsPath, countsFailures, async (_request, reply) => reply.code(200).send());

    scope.post(notificationsPath, { bodyLimit: bodyLimitBytes, ...countsFailures }, async (request, reply) => {
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      await checkSignature(keys, request, bytes);
      const { notificationId, notificationType, notification: content } = read(bytes);
      await db.transaction(async (tx) => {
        if (!(await isNew(tx, notificationId)) || !transactionTypes.has(notificationType)) return;
        const hint = transactionHint.safeParse(content);
        if (hint.success) await onTransaction(hint.data.id, tx);
      });
      return reply.send({ received: true });
    });

    scope.route({
      method: ['GET', 'PUT', 'PATCH', 'DELETE'],
      url: notificationsPath,
      exposeHeadRoute: false,
      ...countsFailures,
      handler: async () => {
        throw httpErrors.method_not_allowed(undefined, { headers: { Allow: 'HEAD, POST' } });
      },
    });
  });
}

async function checkSignature(keys: NotificationKeys, request: FastifyRequest, bytes: Buffer): Promise<void> {
  const { headers } = request;
  const keyId = z.guid().safeParse(headers['x-circle-key-id']);
  const signature = z.base64().min(8).max(200).safeParse(headers['x-circle-signature']);
  if (!keyId.success || !signature.success || bytes.length === 0) throw notificationErrors.invalid_signature();
  const { nearest, wider = nearest } = networksOf(addressOf(request));
  const key = await keys.find(keyId.data.toLowerCase(), wider).catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error;
    // Circle sends it again.
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '30' } });
  });
  if (key === undefined || !verify('sha256', bytes, key, Buffer.from(signature.data, 'base64'))) {
    throw notificationErrors.invalid_signature();
  }
}

function read(bytes: Buffer): z.output<typeof notification> {
  const parsed = notification.safeParse(parseJsonBody(bytes));
  if (parsed.success) return parsed.data;
  throw httpErrors.invalid_request('The body is not a valid notification.');
}

/** Circle repeats a notification until it is answered, and the answer may be lost. */
async function isNew(tx: Transaction, notificationId: string): Promise<boolean> {
  const { rowCount } = await tx.query('INSERT INTO circle_notifications (id) VALUES ($1) ON CONFLICT DO NOTHING', [
    notificationId,
  ]);
  return rowCount === 1;
}

const forgetJob = defineJob({ name: 'forget-circle-notifications', payload: z.unknown(), maxAttempts: 1 });

/** Circle repeats for some days. An older notification that came again would only cause an extra look-up. */
const keptMs = 30 * 24 * 60 * 60_000;

export function forgetNotifications(db: Database, clock: Clock): Schedule {
  return {
    at: '41 3 * * *',
    handler: handleJob(forgetJob, async () => {
      await db.query('DELETE FROM circle_notifications WHERE received_at < $1', [new Date(clock.now() - keptMs)]);
    }),
  };
}
