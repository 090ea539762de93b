import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/database.ts';
import { followPage, startCopy } from '../../support/follow-page.ts';
import { oneOfMany } from '../../support/matrix.ts';
import type { Service } from '../../support/service.ts';

describe('a coin that was added as the page says', oneOfMany({ isRepresentative: false }), () => {
  const database = useDatabase();
  let service: Service;
  beforeAll(async () => {
    service = await startCopy(followPage('docs/adding-a-coin.md'), database);
  });
  afterAll(() => service?.stop());

  test('can be received, swapped and withdrawn', async () => {
    const { client } = service;
    const { key } = await client.register();
    const { address, currencies } = (await client.get('/circle/deposit-address', key)).body;
    expect(currencies).toContain('LINK');

    await client.post('/sandbox/faucet', {
      address,
      chain: 'MATIC',
      currency: 'LINK',
      amount: '12.000000000000000001',
    });
    const balances = async () => (await client.get('/swap/balances', key)).body.balances;
    await expect.poll(balances).toMatchObject({ LINK: '12.000000000000000001', USDC: '0' });

    const swap = await client.post('/swap/execute', { from: 'LINK', to: 'ETH', amount: '4' }, key);
    expect(swap.status, JSON.stringify(swap.body)).toBe(200);
    const finished = async () => (await client.get(`/swap/${swap.body.txId}`, key)).body;
    await expect.poll(finished).toMatchObject({ status: 'completed' });
    expect(await balances()).toMatchObject({ LINK: '8.000000000000000001' });
    // 4 LINK at 15 USDC, in ETH at 3,000.
    expect(Number((await balances()).ETH)).toBeCloseTo(0.02, 3);

    const to = `0x${'9'.repeat(40)}`;
    const paid = await client.post('/circle/withdraw', { amount: '8', currency: 'LINK', address: to }, key);
    expect(paid, JSON.stringify(paid.body)).toMatchObject({ status: 200, body: { currency: 'LINK' } });
    const withdrawal = async () => (await client.get(`/circle/withdrawals/${paid.body.txId}`, key)).body.status;
    await expect.poll(withdrawal).toBe('complete');
  });
});
