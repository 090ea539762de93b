// @module-tag thorough
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { useDatabase } from '../support/database.ts';
import { startInstances } from '../support/instances.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { registerVerified } from '../support/verify-email.ts';

const { db, url } = useDatabase();
const receiver = await startReceiver();

const paymentsEach = 20;

test('three instances share jobs and webhooks, also when one is killed in the middle', async () => {
  const instances = await startInstances(
    3,
    url,
    { ALLOW_PRIVATE_HOSTS: receiver.host, SANDBOX_AUTO_VERIFY: 'false' },
    'start',
  );
  const clients = instances.map(({ client }) => client) as [Client, Client, Client];
  const bob = await registerVerified(clients[1]);
  const hook = { url: receiver.url, events: ['payment.received'], secret: 'tulip' };
  expect((await clients[2].post('/webhooks', hook, bob.key)).status).toBe(201);
  const payers = await Promise.all(clients.flatMap((client) => [registerVerified(client), registerVerified(client)]));
  await Promise.all(payers.map(({ key }) => clients[0].post('/sandbox/fund', { amount: 50, currency: 'USDC' }, key)));
  const pay = async (client: Client, n: number) => {
    const payment = { to: bob.handle, amount: 0.5, currency: 'USDC' };
    expect((await client.post('/agent/transfer', payment, payers[n % payers.length]?.key)).status).toBe(200);
  };

  // Each mail is a job, and the sandbox prints what it sends.
  const mailsTo = (email: string) =>
    instances.flatMap(({ output }) => output().split(`Mail to ${email}`).slice(1)).length;
  await until('every mail', async () => [bob, ...payers].every(({ email }) => mailsTo(email) > 0));

  await Promise.all(clients.flatMap((client) => Array.from({ length: paymentsEach }, (_, n) => pay(client, n))));
  const arrivedIds = () => new Set(receiver.arrived.map(({ eventId }) => eventId));
  await until('every event', async () => arrivedIds().size === 3 * paymentsEach);
  expect(receiver.arrived).toHaveLength(3 * paymentsEach);

  // Nobody is answered any more: whatever an instance has sent is under way when it is killed.
  const unanswered: ServerResponse[] = [];
  receiver.answer = (_arrived, response) => void unanswered.push(response);
  await Promise.all(clients.flatMap((client) => Array.from({ length: paymentsEach }, (_, n) => pay(client, n))));
  await until('deliveries under way', async () => unanswered.length > 0);
  await instances[0]?.kill();
  receiver.answer = (_arrived, response) => void response.end('ok');
  for (const response of unanswered) response.end('ok');
  await Promise.all(
    [clients[1], clients[2]].flatMap((client) => Array.from({ length: paymentsEach }, (_, n) => pay(client, n))),
  );
  const all = 8 * paymentsEach;
  const leased = async () => {
    const { rows } = await db.query<{ id: string }>(
      "SELECT id FROM webhook_deliveries WHERE status = 'pending' AND claimed_until > now() ORDER BY id",
    );
    return rows.map(({ id }) => id);
  };
  let left: string | undefined;
  // The others answer for what they have leased; what stays is what the killed one had. Then it is as if its lease had run out.
  await until('only the leases of the killed instance', async () => {
    const { rows } = await db.query<{ waiting: number }>(
      `SELECT (SELECT count(*) FROM ledger.events)::integer
            + (SELECT count(*) FROM webhook_deliveries WHERE status = 'pending' AND claimed_until IS NULL)::integer AS waiting`,
    );
    const last = left;
    left = (await leased()).join();
    return rows[0]?.waiting === 0 && left === last;
  });
  // Some of these have arrived: whatever the killed one had sent is still read by the receiver.
  const { rows: lost } = await db.query<{ eventId: string }>(
    "UPDATE webhook_deliveries SET claimed_until = now() WHERE status = 'pending' RETURNING event_id",
  );
  const mayRepeat = new Set(lost.map(({ eventId }) => eventId));
  await until('every delivery', async () => {
    const { rows } = await db.query<{ status: string; attempts: number; count: number }>(
      'SELECT status, attempts, count(*)::integer FROM webhook_deliveries GROUP BY status, attempts',
    );
    return rows.length === 1 && rows[0]?.status === 'delivered' && rows[0].attempts === 1 && rows[0].count === all;
  });
  expect(arrivedIds().size).toBe(all);
  const ids = receiver.arrived.map(({ eventId }) => eventId);
  const repeated = ids.filter((eventId, n) => ids.indexOf(eventId) !== n);
  expect(repeated.filter((eventId) => !mayRepeat.has(eventId))).toEqual([]);

  for (const { email } of [bob, ...payers]) expect(mailsTo(email), email).toBe(1);
});
