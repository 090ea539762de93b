import { createHmac } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { runRotation } from '../../../src/app/cli.ts';
import { features } from '../../../src/app/features.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import type { Client } from '../../support/client.ts';
import { useDatabase } from '../../support/database.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();
const { db, url } = database;
const receiver = await startReceiver();
const [old, fresh] = ['o'.repeat(32), 'n'.repeat(32)];
const env = { SANDBOX_AUTO_VERIFY: 'false', ALLOW_PRIVATE_HOSTS: receiver.host };

async function start(secrets: Readonly<Record<string, string>>) {
  const service = await startService(database, { env: { ...env, ...secrets } });
  let stopped = false;
  const stop = async () => {
    if (!stopped) await service.stop();
    stopped = true;
  };
  onTestFinished(stop);
  return { ...service, stop };
}

const rotate = () =>
  runRotation({
    config: readSettings({
      DATABASE_URL: url,
      DATA_DIR: inject('dataDir'),
      PAYWRIGHT_SECRET: fresh,
      PAYWRIGHT_SECRET_OLD: old,
    }),
    db,
    url,
    features,
    say: () => {},
  });

const fundingLink = (client: Client, key: string) =>
  client.request('POST', '/circle/buy-session', { key, body: { amount: 25 }, headers: { 'idempotency-key': 'link' } });

const registerShop = async (client: Client, key: string) => {
  const body = { website: 'shop.example.com', ordersUrl: 'https://shop.example.com/orders' };
  const headers = { 'idempotency-key': 'shop' };
  return (await client.request('POST', '/shopping/merchants', { key, body, headers })).body;
};

/** The public half of the key that we sign with. */
const readProfile = async (at: string) => {
  const { signing_keys: keys } = (await (await fetch(`${at}/.well-known/ucp`)).json()) as { signing_keys: unknown[] };
  expect(keys).toHaveLength(1);
  return keys;
};

test('a service goes on with the new secret alone, and whatever was given out under the old one is good', async () => {
  const before = await start({ PAYWRIGHT_SECRET: old });
  const ada = await before.client.register();
  const bob = await before.client.register();
  await before.client.post('/sandbox/fund', { amount: 10, currency: 'USDC' }, ada.key);
  const pay = (client: Client) =>
    client.request('POST', '/agent/transfer', {
      key: ada.key,
      body: { to: bob.handle, amount: 1, currency: 'USDC' },
      headers: { 'idempotency-key': 'pay' },
    });
  const paid = await pay(before.client);
  expect(paid.status).toBe(200);
  const link = await fundingLink(before.client, ada.key);
  const hook = { url: receiver.url, events: ['payment.sent'], secret: 'tulip' };
  expect((await before.client.post('/webhooks', hook, ada.key)).status).toBe(201);
  const merchant = await registerShop(before.client, ada.key);
  expect(merchant.ordersSecret).toMatch(/^whsec_/);
  const profile = await readProfile(before.url);
  const { body: sent } = await before.client.get('/sandbox/messages', ada.key);
  const code = /^\d{6}/.exec(sent.messages[0].text)?.[0];
  const { body: address } = await before.client.get('/circle/deposit-address', ada.key);
  await expect(rotate(), 'while it seals with the old one').rejects.toThrow(
    'One process still seals with the old secret',
  );
  await before.stop();

  await rotate();

  await expect(start({ PAYWRIGHT_SECRET: old })).rejects.toThrow('PAYWRIGHT_SECRET was replaced on ');
  const { url: page, client } = await start({ PAYWRIGHT_SECRET: fresh });
  expect((await client.get('/circle/deposit-address', ada.key)).body).toEqual(address);
  const again = await pay(client);
  expect([again.status, again.headers.get('idempotency-replayed'), again.body]).toEqual([200, 'true', paid.body]);
  const verified = await client.post('/account/email/verify', { code }, ada.key);
  expect(verified.status).toBe(200);
  const sameLink = await fundingLink(client, ada.key);
  const token = (text: string) => new URL(text).searchParams.get('token');
  expect(token(sameLink.body.url)).toBe(token(link.body.url));
  expect((await fetch(`${page}/buy?token=${token(link.body.url)}`)).status).toBe(200);
  expect(await readProfile(page)).toEqual(profile);
  expect(await registerShop(client, ada.key)).toEqual(merchant);

  await client.post('/agent/transfer', { to: bob.handle, amount: 2, currency: 'USDC' }, ada.key);
  const delivery = await until('the webhook', async () => receiver.arrived[0]);
  const signature = createHmac('sha256', 'tulip').update(delivery.body).digest('hex');
  expect(delivery.headers['x-paywright-signature']).toBe(`sha256=${signature}`);
  // What is new is the new secret's.
  const eve = await client.register();
  expect((await client.get('/account', eve.key)).status).toBe(200);
});
