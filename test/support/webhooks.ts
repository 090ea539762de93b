import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Database } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createOutgoing } from '../../src/kernel/outgoing/outgoing.ts';
import { createSecrets } from '../../src/kernel/secrets/secrets.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { transferEvents } from '../../src/payments/transfers/transfer-posting.ts';
import { type Deliveries, type DeliveryOptions, startDeliveries } from '../../src/webhooks/deliver.ts';
import { createWebhook } from '../../src/webhooks/webhook.ts';
import { useDatabase } from './database.ts';
import { createOwners, fund, transfer } from './ledger.ts';
import type { Receiver } from './receiver.ts';

const logger = createLogger('silent');
const secrets = createSecrets('a secret that is used in tests only');

export interface SeenDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly status: string;
  readonly attempts: number;
  readonly responseCode: number | null;
  readonly error: string | null;
  readonly dueAt: Date;
  /** Of its attempts, in order. */
  readonly codes: (number | null)[];
}

interface Payer {
  readonly id: bigint;
  readonly keyId: string;
  readonly webhookId: string;
}

/** Ledger, webhooks and whoever delivers, without the rest of the service. */
export interface WebhookWorld {
  readonly db: Database;
  readonly url: string;
  readonly ledger: Ledger;
  /** Like a process of its own; it is stopped when the test ends, unless the test has done so. */
  deliver(receivers: readonly Receiver[], options?: Partial<DeliveryOptions>): Deliveries;
  /** Somebody with money and a webhook for payments. */
  addPayer(receiver: Pick<Receiver, 'url'>, secret?: string): Promise<Payer>;
  /** One more webhook for the payments of this account. */
  addWebhook(payer: Omit<Payer, 'webhookId'>, receiver: Pick<Receiver, 'url'>, secret?: string): Promise<string>;
  /** So many payments by this account, each of which is an event. */
  pay(from: bigint, times: number): Promise<void>;
  deliveries(webhookId: string): Promise<SeenDelivery[]>;
  /** How many were delivered or have failed. */
  countEnded(webhookId: string): Promise<number>;
}

export function useWebhooks(): WebhookWorld {
  const { db, url } = useDatabase();
  const ledger = createLedger({ db, logger, limits: { waiting: 20_000 } });
  let shop = 0n;
  beforeAll(async () => {
    const [owner] = await createOwners(db, 1);
    shop = owner?.id ?? 0n;
  });
  afterAll(() => ledger.stop());

  const addWebhook: WebhookWorld['addWebhook'] = async ({ id: accountId, keyId }, { url }, secret) => {
    const events = ['payment.sent'];
    const caller = { accountId, keyId, tier: 'free' } as const;
    const webhook = await db.transaction((tx) => createWebhook(tx, secrets, { caller, url, events, secret }));
    return webhook.id;
  };

  return {
    db,
    url,
    ledger,
    addWebhook,
    deliver(receivers, options = {}) {
      const outgoing = createOutgoing({
        allowPrivateHosts: receivers.map(({ port }) => ({ host: '127.0.0.1', port })),
      });
      const running = startDeliveries({
        db,
        secrets,
        outgoing,
        logger,
        events: transferEvents,
        ledger,
        retrySeconds: [0.2, 0.4, 0.8],
        ...options,
      });
      let stopped: Promise<void> | undefined;
      const stop = () => {
        stopped ??= running.stop().then(() => outgoing.close());
        return stopped;
      };
      onTestFinished(stop);
      return { stop };
    },
    async addPayer(receiver, secret) {
      const [owner] = await createOwners(db, 1);
      if (owner === undefined) throw new Error('nobody was made');
      const { id, keyId } = owner;
      await fund(ledger, [{ id }], 1_000_000_000n);
      return { id, keyId, webhookId: await addWebhook({ id, keyId }, receiver, secret) };
    },
    async pay(from, times) {
      const events = { senderEvent: 'payment.sent', recipientEvent: 'payment.received' };
      const outcomes = await Promise.all(
        Array.from({ length: times }, () => ledger.post(transfer(from, shop, 100n, events))),
      );
      const refused = outcomes.find(({ outcome }) => outcome !== 'posted');
      if (refused !== undefined) throw new Error(`a payment was refused: ${refused.outcome}`);
    },
    async deliveries(webhookId) {
      const { rows } = await db.query<SeenDelivery>(
        `SELECT id, webhook_id, event_id, status, attempts, response_code, error, due_at,
                ARRAY(SELECT a.response_code FROM webhook_attempts a WHERE a.delivery_id = d.id ORDER BY a.number) AS codes
           FROM webhook_deliveries d WHERE webhook_id = $1 ORDER BY id`,
        [webhookId],
      );
      return rows;
    },
    async countEnded(webhookId) {
      const { rows } = await db.query<{ count: bigint }>(
        "SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1 AND status <> 'pending'",
        [webhookId],
      );
      return Number(rows[0]?.count);
    },
  };
}
