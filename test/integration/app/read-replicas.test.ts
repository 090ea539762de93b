import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestAccount } from '../../support/client.ts';
import { type Service, startService } from '../../support/service.ts';
import { ask, type Pair, startPair } from '../../support/standby.ts';
import { until } from '../../support/until.ts';

let pair: Pair;
let services: readonly [Service, Service];
let ada: TestAccount;
let bob: TestAccount;

beforeAll(async () => {
  pair = await startPair();
  const env = { OPERATOR_PORT: '0', DATABASE_READ_URL: pair.standby.url };
  const first = await startService(pair.primary, { env });
  services = [first, await startService(pair.primary, { env, roles: { serve: true, work: false } })];
  [ada, bob] = [await first.client.register({ name: 'Ada' }), await first.client.register({ name: 'Bob' })];
  expect((await first.client.post('/sandbox/fund', { amount: 1_000, currency: 'USDC' }, ada.key)).status).toBe(200);
});
afterAll(async () => {
  for (const service of services ?? []) await service.stop();
  await pair?.stop();
});

/** How the reads of a service ended so far. */
async function readsOf({ operatorPort }: Service): Promise<Record<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  const found = text.matchAll(/^paywright_reads_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, outcome, value]) => [outcome, Number(value)]));
}

test('whoever has paid through one instance sees it in the history of another, whatever the replica does', async () => {
  const [first, second] = services;
  for (const service of services) {
    await until('the replica', async () => {
      await service.client.get('/circle/transfers', ada.key);
      return ((await readsOf(service))['replica'] ?? 0) > 0;
    });
  }
  for (let round = 0; round < 30; round++) {
    if (round % 10 === 4) await ask(pair.standby.url, 'SELECT pg_wal_replay_pause()');
    const [payer, reader] = round % 2 === 0 ? [first, second] : [second, first];
    const body = { to: bob.handle, amount: 1, currency: 'USDC' };
    const paid = await payer.client.post('/agent/transfer', body, ada.key);
    expect(paid.status, JSON.stringify(paid.body)).toBe(200);
    for (const { key } of [ada, bob]) {
      const { body: history } = await reader.client.get('/circle/transfers?limit=1', key);
      expect(history.transfers[0].transferId).toBe(paid.body.transferId);
    }
    if (round % 10 === 7) await ask(pair.standby.url, 'SELECT pg_wal_replay_resume()');
  }
  const counts = await readsOf(second);
  expect(counts['replica']).toBeGreaterThan(1);
  expect(counts['behind']).toBeGreaterThan(0);
  expect(counts['failed']).toBe(0);
});

test('lists, statements, budgets and reserves can be read from a standby', async () => {
  const [service] = services;
  await until('the replica', async () => {
    const before = await readsOf(service);
    await service.client.get('/invoices', ada.key);
    return (await readsOf(service))['replica'] !== before['replica'];
  });
  const month = new Date().toISOString().slice(0, 7);
  const paths = [
    '/circle/transfers',
    `/account/statement?month=${month}`,
    '/circle/deposits',
    '/circle/withdrawals',
    '/circle/buy-sessions',
    '/cross-chain/history',
    '/swap/history',
    '/invoices',
    '/nano/purchases',
    '/shopping/orders',
    '/shopping/sales',
    '/shopping/merchants',
    '/webhooks',
    '/account/audit',
    '/account/budgets',
    '/approvals',
    '/account/decisions',
    '/account/decisions/export',
    '/account/proof',
    '/reserves',
  ];
  for (const path of paths) {
    const reply = await service.client.get(path, ada.key);
    expect(reply.status, `${path} ${JSON.stringify(reply.body)}`).toBe(200);
  }
  expect((await readsOf(service))['failed']).toBe(0);
});
