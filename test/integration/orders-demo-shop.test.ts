import { expect, test } from 'vitest';
import { createClient } from '../support/client.ts';
import { useService } from '../support/service.ts';

const service = useService({ env: { ORDER_ANSWER_SECONDS: '25' } });

const mug = { website: 'demo-shop.example', productTitle: 'Stoneware Mug, Sea', productBrand: 'Alder Pottery' };

async function shopUrl(): Promise<string> {
  return (await service.client.get('/sandbox')).body.demoShop.url;
}

async function setSwitches(switches: object): Promise<void> {
  const reply = await fetch(`${await shopUrl()}/switches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(switches),
  });
  expect(reply.status).toBe(200);
}

async function newBuyer(): Promise<string> {
  const { key } = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 100 }, key);
  return key;
}

const buy = (key: string, changed: object = {}) =>
  createClient(service.url).post(
    '/shopping/buy',
    {
      ...mug,
      amount: 24,
      paymentMethod: 'usdc',
      shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
      ...changed,
    },
    key,
  );

/** On a slow machine a hundred at once may be too many for the shop at first: whoever is told so comes again. */
async function buyOnceItAnswers(key: string, times = 10): ReturnType<typeof buy> {
  const reply = await buy(key);
  return reply.status < 500 || times === 0 ? reply : buyOnceItAnswers(key, times - 1);
}

const balanceOf = async (key: string) => (await service.client.get('/circle/balance', key)).body.USDC;

test('what is bought stands in the shop’s list', async () => {
  const key = await newBuyer();
  const { status, body } = await buy(key);
  expect([status, body.status]).toEqual([200, 'completed']);
  const { merchantOrderId } = (await service.client.get(`/shopping/orders/${body.orderId}`, key)).body;
  const page = await (await fetch(`${await shopUrl()}/orders`)).text();
  expect(page).toContain(merchantOrderId);
  expect(page).toContain('Stoneware Mug, Sea');
});

test('a hundred who want the last one: one gets it, and all others have their money', async () => {
  await setSwitches({ products: { 'stoneware-mug-sea': { stock: 1 } } });
  const { key: patron } = await service.client.register();
  await service.client.post('/sandbox/fund', { amount: 10_000 }, patron);
  const buyers = await Promise.all(Array.from({ length: 100 }, () => service.client.register()));
  await Promise.all(
    buyers.map(({ handle: to }) =>
      service.client.post('/agent/transfer', { to, amount: 40, currency: 'USDC' }, patron),
    ),
  );
  const replies = await Promise.all(buyers.map(({ key }) => buyOnceItAnswers(key)));
  const outcomes = replies.map(({ status, body }) => `${status} ${body.code ?? body.status}`);
  expect(outcomes.filter((outcome) => outcome === '200 completed')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === '409 sold_out')).toHaveLength(99);
  const balances = await Promise.all(buyers.map(({ key }) => balanceOf(key)));
  expect(balances.filter((balance) => balance === '15.04')).toHaveLength(1);
  expect(balances.filter((balance) => balance === '39.4')).toHaveLength(99);
  await setSwitches({ products: { 'stoneware-mug-sea': { stock: 100 } } });
});

const misbehaviours: readonly [object, number, string][] = [
  [{ refuseAddress: true }, 409, 'address_refused'],
  [{ askForBuyer: 'create' }, 409, 'needs_buyer'],
  [{ askForBuyer: 'complete' }, 409, 'needs_buyer'],
  [{ raisePriceBy: 100 }, 409, 'order_failed'],
  [{ redeemMore: 1 }, 409, 'order_failed'],
  [{ redeemCurrency: 'EUR' }, 409, 'order_failed'],
  [{ refuseAfterRedeeming: true }, 409, 'order_failed'],
  [{ redeemTwice: true }, 200, 'completed'],
  [{ answerLateMs: 500 }, 200, 'completed'],
  [{ answer: 'twice' }, 200, 'completed'],
  [{ answer: 'garbage' }, 200, 'completed'],
  [{ answer: 'error' }, 200, 'completed'],
];
test.each(misbehaviours)('a shop made to behave like %j: %i %s', async (behaviour, status, said) => {
  await setSwitches({ behaviour });
  const key = await newBuyer();
  const { status: answered, body } = await buy(key);
  expect([answered, body.code ?? body.status]).toEqual([status, said]);
  expect(await balanceOf(key)).toBe(status === 200 ? '75.64' : '100');
  await setSwitches({ behaviour: {} });
});
