import { monotonicClock, systemClock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import { startLoop } from '../kernel/jobs/loop.ts';
import { noWakes, type Wakes } from '../kernel/jobs/wakes.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Outgoing } from '../kernel/outgoing/outgoing.ts';
import { type Checkpoint, noCheckpoint } from '../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { EventType } from '../ledger/event-types.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { attemptDelivery } from './attempt.ts';
import { claimDeliveries, closeDeliveries, type DueWebhook, findDueWebhooks, releaseClaims } from './claim.ts';
import { createCourier } from './courier.ts';
import { createSearch, fanOut } from './fan-out.ts';
import { createRecorder, recordResults } from './recorder.ts';
import type { RetrySeconds } from './retry-plan.ts';

export interface DeliveryOptions {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly outgoing: Outgoing;
  readonly logger: Logger;
  readonly events: readonly EventType[];
  readonly ledger: Pick<Ledger, 'isBusy'>;
  readonly retrySeconds: RetrySeconds;
  readonly wakes?: Wakes;
  readonly checkpoint?: Checkpoint;
  readonly timeoutMs?: number;
  /** Must be longer than an attempt can take. */
  readonly leaseMs?: number;
}

export interface Deliveries {
  stop(): Promise<void>;
}

const fanOutPaceMs = 100;
/** How long an event may wait that was not notified of. */
const longestRestMs = 5_000;
const claimPaceMs = 250;
const graceMs = 3_000;
/** Time to record a result after an attempt. */
const recordMs = 3_000;
const mostUnrecorded = 2_000;

/**
 * Turns events into deliveries, claims due deliveries, attempts them and records the results. Any number of processes can run
 * this at once.
 */
export function startDeliveries(options: DeliveryOptions): Deliveries {
  const { db, secrets, outgoing, ledger, logger, events, retrySeconds, checkpoint = noCheckpoint } = options;
  const { wakes = noWakes, timeoutMs = 10_000, leaseMs = 30_000 } = options;

  const recorder = createRecorder({
    write: (results) => recordResults(db, results),
    logger,
    clock: monotonicClock,
    keepMs: leaseMs,
  });
  const courier = createCourier({
    attempt: (webhook, delivery) =>
      attemptDelivery({ outgoing, secrets, clock: systemClock, retrySeconds, timeoutMs }, webhook, delivery),
    onResult(result) {
      checkpoint('webhook.attempted');
      recorder.add(result);
    },
    onReturn: (delivery) => void releaseClaims(db, [delivery]).catch(() => {}),
    onRoom: () => claims.wake(),
    isBusy: () => ledger.isBusy,
    patienceMs: Math.max(0, leaseMs - timeoutMs - recordMs),
    clock: monotonicClock,
  });

  const search = createSearch();
  const fanning = startLoop({
    logger,
    fields: {},
    trouble: 'events cannot be turned into deliveries',
    rest: { wakes, topic: 'events' },
    paceMs: fanOutPaceMs,
    async run() {
      const { deliveries, newest, more } = await fanOut(db, events, search.since);
      search.found(newest);
      if (deliveries > 0) claims.wake();
      if (more) return 0;
      // A process that is killed after its commit notifies nobody.
      return newest !== undefined ? fanOutPaceMs : Math.min(wakes.restMs(fanOutPaceMs), longestRestMs);
    },
  });

  let after = '';
  /** Until the next delivery is due, of the webhooks seen in this round. */
  let soonestMs = Number.POSITIVE_INFINITY;
  const claims = startLoop({
    logger,
    fields: {},
    trouble: 'deliveries cannot be claimed',
    rest: { wakes, topic: 'deliveries' },
    paceMs: claimPaceMs,
    async run() {
      if (recorder.waiting > mostUnrecorded) return claimPaceMs;
      const { due, next, nextInMs } = await findDueWebhooks(db, after);
      after = next ?? '';
      soonestMs = Math.min(soonestMs, due.length > 0 ? claimPaceMs : (nextInMs ?? Number.POSITIVE_INFINITY));
      await claimFor(due.filter(({ status }) => status === 'active'));
      const closedAll = await close(due.filter(({ status }) => status !== 'active'));
      if (next !== undefined || !closedAll) return 0;
      const pauseMs = Math.min(Math.max(soonestMs, claimPaceMs), wakes.restMs(claimPaceMs));
      soonestMs = Number.POSITIVE_INFINITY;
      return pauseMs;
    },
  });

  async function claimFor(webhooks: readonly DueWebhook[]): Promise<void> {
    const wanted = courier.plan(webhooks);
    if (wanted.length === 0) return;
    const claimed = await claimDeliveries(db, wanted, leaseMs);
    const got = new Map<string, number>();
    for (const { webhookId } of claimed) got.set(webhookId, (got.get(webhookId) ?? 0) + 1);
    const full = new Set(
      wanted.filter(({ webhookId, most }) => got.get(webhookId) === most).map((one) => one.webhookId),
    );
    courier.take(new Map(webhooks.map((webhook) => [webhook.id, webhook])), claimed, full);
  }

  async function close(webhooks: readonly DueWebhook[]): Promise<boolean> {
    let closedAll = true;
    for (const webhook of webhooks) if ((await closeDeliveries(db, webhook)).more) closedAll = false;
    return closedAll;
  }

  return {
    async stop() {
      await Promise.all([fanning.stop(), claims.stop()]);
      const unbegun = await courier.stop(graceMs);
      await recorder.drain(graceMs);
      await releaseClaims(db, unbegun).catch(() => {});
    },
  };
}
