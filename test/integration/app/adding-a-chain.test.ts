// @module-tag thorough
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDatabase } from '../../support/database.ts';
import { followPage, startCopy } from '../../support/follow-page.ts';
import type { Service } from '../../support/service.ts';

const database = useDatabase();
let service: Service;
beforeAll(async () => {
  service = await startCopy(followPage('docs/adding-a-chain.md'), database);
});
afterAll(() => service?.stop());

test('the sandbox runs the new chain beside the others', async () => {
  const { body } = await service.client.get('/sandbox');
  expect(body.chains).toHaveLength(7);
  expect(body.chains).toContainEqual(
    expect.objectContaining({
      id: 'UNI',
      chainId: 130,
      tokens: { USDC: expect.any(String), WETH: expect.any(String) },
    }),
  );
});

test('a deposit on it is credited, and the bridge carries it home', async () => {
  const { client } = service;
  const { key } = await client.register();
  const { address } = (await client.get('/circle/deposit-address?chain=UNI', key)).body;
  const paid = await client.post('/sandbox/faucet', { address, chain: 'UNI', currency: 'USDC', amount: 25 });
  expect(paid.status).toBe(200);
  await expect
    .poll(async () => (await client.get('/circle/balance', key)).body)
    .toMatchObject({ USDC: '25', other: [] });
  const { deposits } = (await client.get('/circle/deposits', key)).body;
  expect(deposits).toMatchObject([{ chain: 'UNI', amount: '25', status: 'carried_home' }]);
  const { transfers } = (await client.get('/cross-chain/history', key)).body;
  expect(transfers).toMatchObject([{ fromChain: 'UNI', toChain: 'MATIC', received: '25', status: 'completed' }]);
});

test('money leaves to it over the bridge, and stays there', async () => {
  const { client } = service;
  const { key } = await client.register();
  await client.post('/sandbox/fund', { amount: 10 }, key);
  const { status, body } = await client.post('/cross-chain/transfer', { from: 'MATIC', to: 'UNI', amount: '4' }, key);
  expect(status, JSON.stringify(body)).toBe(200);
  await expect
    .poll(async () => (await client.get('/circle/balance', key)).body)
    .toMatchObject({ USDC: '6', other: [{ chain: 'UNI', asset: 'USDC', amount: '4' }] });
});
