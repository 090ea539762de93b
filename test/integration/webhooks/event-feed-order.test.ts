import { expect, it } from 'vitest';
import { recordEvent } from '../../../src/ledger/events.ts';
import { transferEvents } from '../../../src/payments/transfers/transfer-posting.ts';
import { fanOut } from '../../../src/webhooks/fan-out.ts';
import { closeFeed, forgetFeedEvents, openFeed, readFeed } from '../../../src/webhooks/feed.ts';
import { createOwners } from '../../support/ledger.ts';
import { useWebhooks } from '../../support/webhooks.ts';

const world = useWebhooks();
const types = ['payment.sent', 'payment.received'];
const day = 24 * 60 * 60_000;

async function feed() {
  const [owner] = await createOwners(world.db, 1);
  if (owner === undefined) throw new Error('no account was made');
  const { id: accountId, keyId } = owner;
  const caller = { accountId, keyId, tier: 'free' } as Parameters<typeof openFeed>[1];
  const open = () => world.db.transaction((tx) => openFeed(tx, caller, types));
  const cursor = await open();
  /** The numbers of the events behind the cursor. */
  async function read(after = cursor, most = 100_000): Promise<{ numbers: number[]; cursor: string }> {
    const bodies = await readFeed(world.db, { accountId, keyId, after, most });
    const events = bodies.map((body) => JSON.parse(body) as { id: string; data: { number: number } });
    return { numbers: events.map(({ data }) => data.number), cursor: events.at(-1)?.id ?? after };
  }
  const happens = (number: number) =>
    world.db.transaction((tx) => recordEvent(tx, { accountId, type: 'payment.sent', data: { number } }));
  return { accountId, keyId, caller, cursor, open, read, happens };
}

const publish = () => fanOut(world.db, transferEvents);
const clockAt = (now: number) => ({ now: () => now });

it('keeps the order of each account and skips nothing, with several processes that publish and a reader', async () => {
  const feeds = await Promise.all([feed(), feed(), feed()]);
  const each = 200;
  let writing = feeds.length;
  const isWriting = () => writing > 0;
  const writers = feeds.map(async ({ happens }) => {
    for (let number = 1; number <= each; number++) await happens(number);
    writing--;
  });
  const publishers = Array.from({ length: 4 }, async () => {
    while (isWriting()) await publish();
  });
  const readers = feeds.map(async ({ cursor, read }) => {
    const seen: number[] = [];
    let after = cursor;
    while (seen.length < each) {
      const page = await read(after, 7);
      seen.push(...page.numbers);
      after = page.cursor;
      if (!isWriting() && page.numbers.length === 0) await publish();
    }
    return seen;
  });
  await Promise.all([...writers, ...publishers]);
  const wanted = Array.from({ length: each }, (_, index) => index + 1);
  for (const seen of await Promise.all(readers)) expect(seen).toEqual(wanted);
}, 60_000);

it('leaves the events of feeds to the one transaction that publishes, and takes all others', async () => {
  const { happens, read } = await feed();
  await happens(1);
  await world.db.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(4028410)');
    await publish();
    expect((await read()).numbers).toEqual([]);
  });
  // A process of the release before this one.
  const { rows } = await world.db.query(
    "SELECT * FROM ledger.take_events(10, '00000000-0000-0000-0000-000000000000', '{}')",
  );
  expect(rows).toEqual([]);
  await publish();
  expect((await read()).numbers).toEqual([1]);
});

it('shows an event that is committed late to a reader who is further already', async () => {
  const { accountId, happens, read, cursor } = await feed();
  let commit = () => {};
  const held = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let recorded = () => {};
  const isRecorded = new Promise<void>((resolve) => {
    recorded = resolve;
  });
  const late = world.db.transaction(async (tx) => {
    await recordEvent(tx, { accountId, type: 'payment.sent', data: { number: 1 } });
    recorded();
    await held;
  });
  await isRecorded;
  await happens(2);
  await publish();
  const further = await read(cursor);
  expect(further.numbers).toEqual([2]);
  commit();
  await late;
  await publish();
  expect((await read(further.cursor)).numbers).toEqual([1]);
});

it('keeps events for three days, and always the newest', async () => {
  const { accountId, happens, read } = await feed();
  for (const number of [1, 2, 3]) await happens(number);
  await publish();
  const { cursor: last } = await read();
  await world.db.query("UPDATE feed_events SET created_at = now() - interval '4 days' WHERE account_id = $1", [
    accountId,
  ]);
  await forgetFeedEvents(world.db, clockAt(Date.now()));
  expect(await read(last)).toEqual({ numbers: [], cursor: last });
  await expect(read()).rejects.toMatchObject({ code: 'events_gone' });
  await happens(4);
  await publish();
  expect((await read(last)).numbers).toEqual([4]);
});

it('keeps the newest ten thousand', async () => {
  const { accountId, read } = await feed();
  await world.db.query(
    `INSERT INTO feed_events (account_id, place, event_id, body)
     SELECT $1, n, gen_random_uuid(), jsonb_build_object('id', 'evt_1', 'data', jsonb_build_object('number', n))::text
       FROM generate_series(1, 15010) n`,
    [accountId],
  );
  await world.db.query('UPDATE ledger.event_feeds SET newest = 15010 WHERE account_id = $1', [accountId]);
  expect((await read()).numbers).toHaveLength(15_010);
  await forgetFeedEvents(world.db, clockAt(Date.now()));
  const { rows } = await world.db.query(
    'SELECT min(place)::int, max(place)::int FROM feed_events WHERE account_id = $1',
    [accountId],
  );
  expect(rows).toEqual([{ min: 5_011, max: 15_010 }]);
  await expect(read()).rejects.toMatchObject({ code: 'events_gone' });
});

it('closes when it is not read for three days, and records nothing from then on', async () => {
  const { accountId, cursor, happens, read, open } = await feed();
  await happens(1);
  await publish();
  await forgetFeedEvents(world.db, clockAt(Date.now() + 2 * day));
  expect((await read()).numbers).toEqual([1]);
  await forgetFeedEvents(world.db, clockAt(Date.now() + 4 * day));
  await expect(read()).rejects.toMatchObject({ code: 'events_gone' });
  await happens(2);
  const { rows } = await world.db.query(
    `SELECT (SELECT count(*)::int FROM ledger.event_subscriptions WHERE account_id = $1) AS subscriptions,
            (SELECT count(*)::int FROM feed_events WHERE account_id = $1) AS events`,
    [accountId],
  );
  expect(rows).toEqual([{ subscriptions: 0, events: 0 }]);
  const again = await open();
  await happens(3);
  await publish();
  expect((await read(again)).numbers).toEqual([3]);
  await expect(read(cursor)).rejects.toMatchObject({ code: 'events_gone' });
});

it('can be closed while events wait for it', async () => {
  const { accountId, happens, open, read } = await feed();
  await happens(1);
  await world.db.transaction((tx) => closeFeed(tx, accountId));
  await publish();
  expect((await read(await open())).numbers).toEqual([]);
});
