import { namesOf } from '../accounts/find-account.ts';
import type { Database, Transaction } from '../kernel/db/database.ts';
import { tryLockUntilCommit } from '../kernel/db/locks.ts';
import { newId } from '../kernel/ids/ids.ts';
import type { EventType } from '../ledger/event-types.ts';
import { type LedgerEvent, takeEvents } from '../ledger/events.ts';
import { feedsOf, publish } from './feed.ts';
import { buildBody } from './payload.ts';

/** Bounds the events in memory and in one commit. */
const eventsPerCommit = 500;

/**
 * Turns events into deliveries, one per subscribed webhook, and appends them to the feed of their account. One commit deletes the
 * event and inserts what it became, so each event is fanned out exactly once, even with several processes or a crash. One process
 * at a time publishes to feeds: two could commit the events of an account in the wrong order. The others leave those events to it.
 */
export async function fanOut(db: Database, types: readonly EventType[], since?: Date) {
  return db.transaction(async (tx) => {
    const mayPublish = await tryLockUntilCommit(tx, 'eventFeeds');
    const events = await takeEvents(tx, { most: eventsPerCommit, since, feeds: mayPublish });
    const deliveries = await insertAll(tx, { events, types, mayPublish });
    return { deliveries, newest: events.at(-1)?.createdAt, more: events.length === eventsPerCommit };
  });
}

/** Longer than nearly every commit takes after its event got its time. */
const lateMs = 10_000;
const looksBetween = 50;

/**
 * From when on the next look searches. While there are always new events, those before have been taken; only every
 * fiftieth look, and one after a look that found nothing, searches everything for what was committed late.
 */
export function createSearch() {
  let since: Date | undefined;
  let looks = 0;
  return {
    get since() {
      return looks % looksBetween === 0 ? undefined : since;
    },
    found(newest: Date | undefined): void {
      looks++;
      since = newest && new Date(newest.getTime() - lateMs);
    },
  };
}

interface Subscriber {
  readonly id: string;
  readonly accountId: bigint;
  readonly events: readonly string[];
  readonly endedAt: Date | null;
}

function wants({ events, endedAt }: Subscriber, event: LedgerEvent): boolean {
  return events.includes(event.type) && (endedAt === null || endedAt >= event.createdAt);
}

interface Taken {
  readonly events: readonly LedgerEvent[];
  readonly types: readonly EventType[];
  readonly mayPublish: boolean;
}

/** Returns the number of deliveries. */
async function insertAll(tx: Transaction, { events, types, mayPublish }: Taken): Promise<number> {
  if (events.length === 0) return 0;
  const webhooks = await webhooksOf(tx, events);
  const feeds = await feedsOf(tx, mayPublish ? events.map(({ accountId }) => accountId) : []);
  const told = events.filter(({ accountId }) => webhooks.has(accountId) || feeds.has(accountId));
  const parties = await namesOf(
    tx,
    told.flatMap(({ posting }) => [posting?.senderId ?? null, posting?.recipientId ?? null]),
  );
  const described = told.flatMap((event) => {
    const subscribed = webhooks.get(event.accountId)?.filter((webhook) => wants(webhook, event)) ?? [];
    const inFeed = feeds.has(event.accountId);
    if (subscribed.length === 0 && !inFeed) return [];
    const body = buildBody(event, types, (accountId) => (accountId === null ? undefined : parties.get(accountId)));
    return [{ event, subscribed, inFeed, body }];
  });
  await publish(
    tx,
    described.flatMap(({ event: { accountId, id }, inFeed, body }) => (inFeed ? [{ accountId, id, body }] : [])),
  );
  return insertDeliveries(
    tx,
    described.flatMap(({ event, subscribed, body }) =>
      subscribed.map((webhook) => ({ id: newId('dlv'), webhook, event, body })),
    ),
  );
}

interface NewDelivery {
  readonly id: string;
  readonly webhook: Subscriber;
  readonly event: LedgerEvent;
  readonly body: string;
}

async function insertDeliveries(tx: Transaction, deliveries: readonly NewDelivery[]): Promise<number> {
  if (deliveries.length === 0) return 0;
  await tx.query(
    `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])`,
    [
      deliveries.map(({ id }) => id),
      deliveries.map(({ event }) => event.accountId),
      deliveries.map(({ webhook }) => webhook.id),
      deliveries.map(({ event }) => event.id),
      deliveries.map(({ event }) => event.type),
      deliveries.map(({ body }) => body),
      deliveries.map(({ event }) => event.createdAt.toISOString()),
    ],
  );
  return deliveries.length;
}

/**
 * The webhooks of the accounts concerned. It includes webhooks that ended after the oldest event, so that their deliveries show
 * up as failed instead of missing. A webhook that was registered after an event may receive it too.
 */
async function webhooksOf(tx: Transaction, events: readonly LedgerEvent[]): Promise<Map<bigint, Subscriber[]>> {
  const oldest = Math.min(...events.map(({ createdAt }) => createdAt.getTime()));
  const { rows } = await tx.query<Subscriber>(
    `SELECT id, account_id, events, ended_at FROM webhooks WHERE account_id = ANY ($1) AND status <> 'deleted'
     UNION ALL
     SELECT id, account_id, events, ended_at FROM webhooks
      WHERE account_id = ANY ($1) AND status = 'deleted' AND ended_at >= $2`,
    [[...new Set(events.map(({ accountId }) => accountId))], new Date(oldest)],
  );
  const byAccount = new Map<bigint, Subscriber[]>();
  for (const row of rows) byAccount.set(row.accountId, [...(byAccount.get(row.accountId) ?? []), row]);
  return byAccount;
}
