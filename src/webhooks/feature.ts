import { z } from 'zod';
import { keyRotated, keysEnded } from '../accounts/keys/on-keys-ended.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Feature } from '../kernel/feature.ts';
import { defineSettings } from '../kernel/settings.ts';
import { type DeliveryOptions, startDeliveries } from './deliver.ts';
import { deliveryMetrics, forgetDeliveriesSchedule } from './delivery.ts';
import { forgetFeedEventsSchedule } from './feed.ts';
import { type WebhookParts, webhookRoutes } from './routes.ts';
import { moveWebhooksOfKey, webhooksOfEndedKeys } from './webhook.ts';

const retrySeconds = z
  .string()
  .regex(/^\s*\d{1,5}(\.\d{1,3})?\s*(,\s*\d{1,5}(\.\d{1,3})?\s*){0,2}$/, {
    error: 'must be one to three numbers of seconds, comma-separated',
  })
  .transform((text) => text.split(',').map(Number))
  .refine((list) => list.every((seconds) => seconds <= 86_400), 'must hold no more than 86400 seconds each')
  .default([10, 60, 360]);

export const webhooks: Feature<{
  settings: Pick<DeliveryOptions, 'retrySeconds'>;
  serving: WebhookParts;
  metrics: { readonly db: Database };
  working: Omit<DeliveryOptions, 'retrySeconds'> & { readonly clock: Clock };
}> = {
  name: 'webhooks',
  sealed: [{ purpose: 'webhook-secrets', columns: [{ table: 'webhooks', key: ['id'], column: 'sealed_secret' }] }],
  chapters: [{ name: 'Webhooks', description: 'Receive events at your own URL, and inspect their deliveries.' }],
  settings: defineSettings({
    variables: { WEBHOOK_RETRY_SECONDS: retrySeconds },
    harmless: ['WEBHOOK_RETRY_SECONDS'],
    docs: {
      room: 'Webhooks',
      rows: {
        WEBHOOK_RETRY_SECONDS: {
          usual: '`10,60,360`',
          does: 'The seconds before each retry of a failed delivery: one to three numbers.',
          change: 'To try a receiver in the sandbox without waiting.',
        },
      },
    },
    read: ({ WEBHOOK_RETRY_SECONDS }) => ({ retrySeconds: WEBHOOK_RETRY_SECONDS }),
  }),
  routes: webhookRoutes,
  hooks: [keysEnded.on(webhooksOfEndedKeys), keyRotated.on(moveWebhooksOfKey)],
  metrics: ({ db }) => [deliveryMetrics(db)],
  schedules: ({ db, clock }) => [forgetDeliveriesSchedule(db, clock), forgetFeedEventsSchedule(db, clock)],
  loops: (parts, settings) => [startDeliveries({ ...parts, ...settings })],
};
