import { expect, it } from 'vitest';
import { useService } from '../../support/service.ts';

const service = useService();

it('refuses a cursor behind which events are gone, instead of skipping them', async () => {
  const { key, handle } = await service.client.register();
  const { body } = await service.client.post('/account/events', undefined, key);
  const { db } = service.database;
  const {
    rows: [account],
  } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  await db.query(
    `INSERT INTO feed_events (account_id, place, event_id, body)
     SELECT $1, n, gen_random_uuid(), json_build_object('id', 'evt_' || n, 'type', 'key.created',
              'createdAt', '2026-01-15T10:00:00.000Z', 'data', json_build_object('n', n))::text
       FROM generate_series(1, 5) n`,
    [account?.id],
  );
  await db.query('UPDATE ledger.event_feeds SET newest = 5 WHERE account_id = $1', [account?.id]);
  const read = () => service.client.get(`/account/events?after=${body.cursor}`, key);
  expect((await read()).body.events).toHaveLength(5);

  // Old events are removed in chunks, in the order in which they lie in the table.
  await db.query('DELETE FROM feed_events WHERE account_id = $1 AND place = 3', [account?.id]);
  const { status, body: refused } = await read();
  expect([status, refused.code]).toEqual([410, 'events_gone']);
});
