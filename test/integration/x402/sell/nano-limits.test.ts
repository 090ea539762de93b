import { beforeAll, expect, test } from 'vitest';
import type { Client } from '../../../support/client.ts';
import {
  askPrice,
  openShopfront,
  paymentHeader,
  quotePath,
  type Shopfront,
  sign,
  type Terms,
} from '../../../support/nano.ts';
import { useService } from '../../../support/service.ts';

const service = useService({ env: { RATE_LIMIT_ANONYMOUS_PER_MINUTE: '3', NANO_PAYER_PER_MINUTE: '4' } });
let shop: Shopfront;
let client: Client;
let terms: Terms;
beforeAll(async () => {
  client = service.client;
  shop = await openShopfront(service.database);
  terms = await askPrice(client);
});

test('a good payment counts against its payer, whatever its address has used up; a bad one counts against the address', async () => {
  const [first, second, poor] = [await shop.payer(10_000n), await shop.payer(10_000n), await shop.payer(0n)];
  const send = async (payer: typeof first) =>
    client.request('GET', quotePath, { headers: paymentHeader(await sign(payer, terms), terms) });
  // The price was asked for once already.
  expect((await client.get(quotePath)).status).toBe(402);
  expect((await send(poor)).status).toBe(402);
  const refused = await send(poor);
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  expect((await client.get(quotePath)).status).toBe(429);

  const replies = [];
  for (let call = 0; call < 5; call++) replies.push(await send(first));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
  expect(replies[0]?.headers.get('ratelimit-policy')).toBe('"default";q=4;w=60');
  expect((await send(second)).status).toBe(200);
});
