import { z } from 'zod';
import { requireUnfrozen } from '../accounts/keys/place.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Database, Queryable, Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { fromTypeId, newUuid, toTypeId } from '../kernel/ids/typeid.ts';
import { defineJob, handleJob } from '../kernel/jobs/define-job.ts';
import type { Schedule } from '../kernel/jobs/worker.ts';
import type { LedgerEvent } from '../ledger/events.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { webhookErrors } from './errors.ts';
import { subscribe } from './subscribe.ts';

/** Events are kept for three days, and a feed that nobody reads for as long is closed. */
const keptMs = 3 * 24 * 60 * 60_000;

/** The newest of each account. */
const keptPerAccount = 10_000;

/** How often reading is noted. */
const notedEvery = "interval '1 hour'";

/** The topic of the wakes that ends the waiting for events. */
export function topicOf(accountId: bigint): string {
  return `feed/${accountId}`;
}

/**
 * Opens the account's feed, or finds it open. From this commit on, every event of the account is recorded. Returns the cursor behind
 * the newest.
 */
export async function openFeed(tx: Transaction, caller: Caller, types: readonly string[]): Promise<string> {
  const { accountId } = caller;
  await requireLiveKey(tx, caller);
  await requireUnfrozen(tx, caller);
  await tx.query(
    `INSERT INTO ledger.event_feeds (account_id, beginning, types) VALUES ($1, $2, $3)
     ON CONFLICT (account_id) DO UPDATE SET read_at = now(), types = excluded.types`,
    [accountId, newUuid(Date.now()), types],
  );
  await subscribe(tx, accountId);
  const { rows } = await tx.query<{ id: string }>(
    `SELECT coalesce(e.event_id, f.beginning) AS id
       FROM ledger.event_feeds f LEFT JOIN feed_events e ON e.account_id = f.account_id AND e.place = f.newest
      WHERE f.account_id = $1`,
    [accountId],
  );
  return toTypeId('evt', rows[0]?.id ?? '');
}

/** The caller holds the lock of feeds, or has none of these accounts. */
export async function feedsOf(tx: Transaction, accountIds: readonly bigint[]): Promise<ReadonlySet<bigint>> {
  const { rows } = await tx.query<{ accountId: bigint }>(
    'SELECT account_id FROM ledger.event_feeds WHERE account_id = ANY ($1) ORDER BY account_id FOR UPDATE',
    [[...new Set(accountIds)]],
  );
  return new Set(rows.map(({ accountId }) => accountId));
}

interface Published extends Pick<LedgerEvent, 'id' | 'accountId'> {
  readonly body: string;
}

/** Appends events to the feeds of their accounts, in the given order. The caller holds these feeds until its commit. */
export async function publish(tx: Transaction, events: readonly Published[]): Promise<void> {
  if (events.length === 0) return;
  const accountIds = events.map(({ accountId }) => accountId);
  await tx.query(
    `WITH new AS (
       SELECT n.*, row_number() OVER (PARTITION BY n.account_id ORDER BY n.ordinality) AS nth
         FROM unnest($1::bigint[], $2::uuid[], $3::text[]) WITH ORDINALITY n (account_id, event_id, body)),
     placed AS (
       INSERT INTO feed_events (account_id, place, event_id, body)
       SELECT n.account_id, f.newest + n.nth, n.event_id, n.body FROM new n JOIN ledger.event_feeds f USING (account_id)),
     counted AS (SELECT account_id, count(*) AS many FROM new GROUP BY account_id)
     UPDATE ledger.event_feeds f SET newest = f.newest + c.many FROM counted c WHERE f.account_id = c.account_id`,
    [accountIds, events.map(({ id }) => fromTypeId('evt', id)), events.map(({ body }) => body)],
  );
  await tx.query("SELECT pg_notify('paywright_work', topic) FROM unnest($1::text[]) topic", [
    [...new Set(accountIds)].map(topicOf),
  ]);
}

interface Reading {
  readonly accountId: bigint;
  readonly keyId: string;
  readonly after: string;
  readonly most: number;
}

/**
 * The events behind the cursor, oldest first. The cursor is the id of an event and not a number, so that a cursor of before a
 * restore is refused instead of skipping events. So is one behind which events are gone: they are removed in no certain order. The key is looked at again, because it may have been revoked while the request waited.
 */
export async function readFeed(db: Queryable, { accountId, keyId, after, most }: Reading): Promise<string[]> {
  const { rows } = await db.query<{ isLive: boolean; isKnown: boolean; bodies: string[] }>(
    `WITH place AS (
       SELECT coalesce(
         (SELECT e.place FROM feed_events e WHERE e.account_id = $1 AND e.event_id = $3),
         -- The beginning holds as long as no event behind it is gone.
         (SELECT 0 FROM ledger.event_feeds f WHERE f.account_id = $1 AND f.beginning = $3
             AND (f.newest = 0 OR EXISTS (SELECT FROM feed_events e WHERE e.account_id = $1 AND e.place = 1)))) AS place)
     SELECT EXISTS (SELECT FROM api_keys WHERE id = $2 AND revoked_at IS NULL
                       AND (expires_at IS NULL OR expires_at > clock_timestamp())) AS is_live,
            p.place IS NOT NULL AND page.last = p.place + cardinality(page.bodies)
              AND EXISTS (SELECT FROM ledger.event_feeds WHERE account_id = $1) AS is_known,
            page.bodies
       FROM place p CROSS JOIN LATERAL (
         SELECT coalesce(array_agg(e.body ORDER BY e.place), '{}') AS bodies, coalesce(max(e.place), p.place) AS last
           FROM (SELECT body, place FROM feed_events WHERE account_id = $1 AND place > p.place ORDER BY place LIMIT $4) e) page`,
    [accountId, keyId, fromTypeId('evt', after), most],
  );
  const [found] = rows;
  if (found?.isLive !== true) throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
  if (!found.isKnown) throw webhookErrors.events_gone();
  return found.bodies;
}

/** A feed stays open while it is read. */
export async function noteReading(db: Queryable, accountId: bigint): Promise<void> {
  await db.query(
    `UPDATE ledger.event_feeds SET read_at = now() WHERE account_id = $1 AND read_at < now() - ${notedEvery}`,
    [accountId],
  );
}

export async function closeFeed(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('DELETE FROM ledger.event_feeds WHERE account_id = $1', [accountId]);
  await tx.query('DELETE FROM feed_events WHERE account_id = $1', [accountId]);
}

const chunk = 5_000;

/** A job may take half a minute; the next run, ten minutes later, continues. */
const longestMs = 15_000;

/** Closes feeds that are not read, and removes old events. The newest of each feed stays, because cursors point to it. */
export async function forgetFeedEvents(db: Database, clock: Clock): Promise<void> {
  const before = new Date(clock.now() - keptMs);
  const deadline = clock.now() + longestMs;
  const { rows: unread } = await db.query<{ accountId: bigint }>(
    'SELECT account_id FROM ledger.event_feeds WHERE read_at < $1 LIMIT 1000',
    [before],
  );
  for (const { accountId } of unread) await closeUnread(db, accountId, before);
  for (const [sql, value] of [
    [deleteOld, before],
    [deleteSurplus, keptPerAccount],
  ] as const) {
    while (clock.now() < deadline && (await db.query(sql, [value, chunk])).rowCount === chunk);
  }
}

async function closeUnread(db: Database, accountId: bigint, before: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const { rowCount } = await tx.query(
      'SELECT FROM ledger.event_feeds WHERE account_id = $1 AND read_at < $2 FOR UPDATE',
      [accountId, before],
    );
    if (rowCount === 0) return;
    await closeFeed(tx, accountId);
    await subscribe(tx, accountId);
  });
}

const deleteOld = `
  DELETE FROM feed_events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM feed_events e JOIN ledger.event_feeds f USING (account_id)
     WHERE e.created_at < $1 AND e.place < f.newest LIMIT $2))`;

const deleteSurplus = `
  DELETE FROM feed_events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM ledger.event_feeds f JOIN feed_events e ON e.account_id = f.account_id AND e.place <= f.newest - $1
     LIMIT $2))`;

const job = defineJob({ name: 'forget-feed-events', payload: z.unknown(), maxAttempts: 1 });

export function forgetFeedEventsSchedule(db: Database, clock: Clock): Schedule {
  return { at: '*/10 * * * *', handler: handleJob(job, () => forgetFeedEvents(db, clock)) };
}
