// @module-tag thorough
import { afterAll, expect, test } from 'vitest';
import { useOrders } from '../../../support/orders.ts';
import { startUcpMerchant } from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const silent = await startUcpMerchant();
const quick = await startUcpMerchant();
const world = useOrders(quick, { env: { ALLOW_PRIVATE_HOSTS: `${quick.website},${silent.website}` } });
const { service, buy } = world;
silent.connect(() => service.url);

let speak = () => {};
const silence = new Promise<void>((resolve) => {
  speak = resolve;
});
afterAll(() => speak());

test('a shop that stays silent keeps up its own orders and nobody else’s', async () => {
  let asked = 0;
  silent.hooks.complete = async () => {
    asked++;
    await silence;
    return { status: 503, body: {} };
  };
  const many = Array.from({ length: 10 }, () => buy({ website: silent.website }));
  await until('orders to wait for it', async () => asked === 4);

  const { status, body } = await buy();
  expect([status, body.status]).toEqual([200, 'completed']);

  // It is asked about the next as soon as it has spoken.
  silent.hooks = {};
  speak();
  await until('all of them to be taken', async () => {
    const { orders } = (await service.client.get('/shopping/orders?limit=100&status=completed', world.buyer.key)).body;
    return orders.length === 11;
  });
  await Promise.all(many);
});
