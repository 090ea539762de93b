// @module-tag thorough
import { expect, test } from 'vitest';
import { useOrders } from '../../../support/orders.ts';
import { refuse, startUcpMerchant } from '../../../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
// One of the three requests of this address was the registration of the buyer.
const world = useOrders(shop, {
  env: { RATE_LIMIT_ANONYMOUS_PER_MINUTE: '3' },
  settings: { orders: { shopPerMinute: 6 } },
});
const { service, buy } = world;

const redeem = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/api/shopping/credentials/redeem`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', signature: 'sig1=:AAAA:', ...headers },
  });

test('a busy shop has a limit of its own, and whoever only says to be a shop has that of an address', async () => {
  for (const _order of Array.from({ length: 5 })) expect((await buy()).status).toBe(200);

  // What cannot be read, and what the shop has not signed, counts for the address.
  expect((await redeem('{')).status).toBe(400);
  const forged = () =>
    redeem(JSON.stringify({ token: 'pwc_guessed', checkout_id: 'x', amount: 1, currency: 'USD' }), {
      'ucp-agent': `profile="${shop.origin}/.well-known/ucp"`,
      'signature-input': 'sig1=("@method");created=1;keyid="x"',
    });
  expect((await forged()).status).toBe(401);
  expect((await forged()).status).toBe(429);
  expect((await redeem('{')).status).toBe(429);
  expect((await fetch(`${service.url}/api/nano`)).status).toBe(429);

  // The shop goes on, up to its own limit.
  expect((await buy()).status).toBe(200);
  const statuses: number[] = [];
  shop.hooks.complete = async (session, call) => {
    statuses.push((await shop.redeem(session, call)).status);
    return refuse(session, 'payment_failed', 'We are too busy.');
  };
  await buy();
  expect(statuses).toEqual([429]);
});
