import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Database } from '../../src/kernel/db/database.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Receiver } from './receiver.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

/** Services on one database, which may deliver webhooks to the receiver. */
export interface Exercised {
  readonly db: Database;
  readonly one: Service;
  readonly two: Service;
  readonly receiver: Receiver;
}

/**
 * Uses what needs the most of PostgreSQL: postings, budgets, notifications between instances, jobs, sagas on a chain, webhooks. For
 * tests that run the service on another server, as another role or through a pooler.
 */
export async function exercise({ db, one, two, receiver }: Exercised): Promise<void> {
  const [ada, bob] = [await one.client.register(), await two.client.register()];
  expect((await one.client.post('/sandbox/fund', { amount: 50, currency: 'USDC' }, ada.key)).status).toBe(200);
  const hook = { url: receiver.url, events: ['payment.received'], secret: 'tulip' };
  expect((await two.client.post('/webhooks', hook, bob.key)).status).toBe(201);

  const { body: child } = await one.client.post('/account/keys', { name: 'Agent' }, ada.key);
  const budget = { id: 'daily', amount: 5, currency: 'USDC', window: 'day' };
  const policy = { key: ada.key, body: { budgets: [budget] } };
  expect((await two.client.request('PUT', `/account/keys/${child.id}/policy`, policy)).status).toBe(200);
  const pay = ({ client }: Service) =>
    client.post('/agent/transfer', { to: bob.handle, amount: 2, currency: 'USDC' }, child.apiKey);
  const paid = await Promise.all([one, two, one, two, one, two].map(pay));
  expect(paid.map(({ status, body }) => body.code ?? status).toSorted()).toEqual([
    200,
    200,
    ...Array(4).fill('budget_exceeded'),
  ]);
  await until('both webhooks', async () => new Set(receiver.arrived.map(({ eventId }) => eventId)).size === 2);

  const invoice = { toHandle: bob.handle, amount: 1, currency: 'USDC', description: 'Lunch' };
  const { body: sent } = await one.client.post('/invoices', invoice, ada.key);
  expect((await two.client.post(`/invoices/${sent.id}/pay`, undefined, bob.key)).status).toBe(200);

  const out = { amount: 5, currency: 'USDC', address: `0x${randomBytes(20).toString('hex')}` };
  const { body: withdrawal } = await one.client.post('/circle/withdraw', out, ada.key);
  await until('the withdrawal', async () => {
    const { body } = await two.client.get(`/circle/withdrawals/${withdrawal.txId}`, ada.key);
    return body.status === 'complete';
  });

  expect((await two.client.get('/account', child.apiKey)).status).toBe(200);
  expect((await one.client.post('/account/revoke-key', undefined, child.apiKey)).status).toBe(200);
  expect((await two.client.get('/account', child.apiKey)).status).toBe(401);
  expect((await verifyLedger(db)).problems).toEqual([]);
}
