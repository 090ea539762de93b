import { expect, test } from 'vitest';
import { useChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';
import { createKey } from '../support/key-tree.ts';
import { type MortalService, useMortalServices } from '../support/mortal-service.ts';
import { openOwnerBrowser } from '../support/owner.ts';

const database = useDatabase();
useChains(database);
const start = useMortalServices(database);

/** Before anything is written, within the commit before and after the approval is marked, and after the commit. */
const places = ['approval.begun', 'approval.held', 'approval.settled', 'approval.executed'];

const ways = [
  { path: '/agent/transfer', body: { amount: 8, currency: 'USDC' } },
  { path: '/circle/withdraw', body: { amount: 8, currency: 'USDC', address: `0x${'7'.repeat(40)}` } },
];

test.each(places)(
  'a process that ends at %s has executed an approval once, or left it pending',
  async (place) => {
    const asked: Awaited<ReturnType<typeof askAndApprove>>[] = [];
    // One after the other, because a start prepares what all share.
    for (const way of ways) asked.push(await askAndApprove(await start(place), way));
    const living = await start('never');
    for (const { owner, agent, id, pay } of asked) {
      const look = async () => (await living.client.get(`/approvals/${id}`, agent.apiKey)).body;
      const balance = async () => (await living.client.get('/circle/balance', owner.key)).body.USDC;
      const before = await look();
      const isExecuted = place === 'approval.executed';
      expect([before.status, await balance()]).toEqual(isExecuted ? ['executed', '12'] : ['pending', '20']);
      const browser = openOwnerBrowser(living.url);
      await browser.signIn(owner);
      await browser.get(`/approve/${id}`);
      await browser.submit(`/approve/${id}`);
      const after = await look();
      expect([after.status, await balance()]).toEqual(['executed', '12']);
      const again = await pay(living);
      expect([again.status, again.body]).toEqual([after.result.status, after.result.body]);
      expect(await balance()).toBe('12');
    }
    await living.kill();
  },
  120_000,
);

async function askAndApprove(service: MortalService, { path, body }: (typeof ways)[0]) {
  const { client, url } = service;
  const owner = await client.register();
  const { handle: to } = await client.register();
  await client.post('/sandbox/fund', { amount: 20 }, owner.key);
  const agent = await createKey(client, owner.key);
  const rules = [{ effect: 'ask' }];
  await client.request('PUT', `/account/keys/${agent.id}/policy`, { key: owner.key, body: { rules } });
  const pay = (by: MortalService) =>
    by.client.request('POST', path, {
      key: agent.apiKey,
      body: path === '/agent/transfer' ? { ...body, to } : body,
      headers: { 'idempotency-key': 'pay' },
    });
  const { status, body: answer } = await pay(service);
  expect(status, JSON.stringify(answer)).toBe(202);
  const browser = openOwnerBrowser(url);
  await browser.signIn(owner);
  await browser.get(`/approve/${answer.approvalId}`);
  await browser.submit(`/approve/${answer.approvalId}`).catch(() => {});
  expect(await service.ended).toBe('SIGKILL');
  return { owner, agent, id: answer.approvalId, pay };
}
