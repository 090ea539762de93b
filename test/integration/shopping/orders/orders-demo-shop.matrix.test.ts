import { expect, test } from 'vitest';
import { createClient } from '../../../support/client.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useService } from '../../../support/service.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

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

for (const [word, count] of [
  ['a dozen', 12],
  // As many as one address may have under way.
  ['sixty', 60],
] as const) {
  const isRepresentative = count === 12;
  test(
    `${word} who want the last one: one gets it, and all others have their money`,
    oneOfMany({ isRepresentative }),
    async () => {
      await setSwitches({ products: { 'stoneware-mug-sea': { stock: 1 } } });
      const { key: patron } = await service.client.register();
      await service.client.post('/sandbox/fund', { amount: 10_000 }, patron);
      const buyers = await Promise.all(Array.from({ length: count }, () => service.client.register()));
      await Promise.all(
        buyers.map(({ handle: to }) =>
          service.client.post('/agent/transfer', { to, amount: 40, currency: 'USDC' }, patron),
        ),
      );
      const replies = await Promise.all(buyers.map(({ key }) => buyOnceItAnswers(key)));
      const outcomes = replies.map(({ status, body }) => `${status} ${body.code ?? body.status}`);
      expect(outcomes.filter((outcome) => outcome === '200 completed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === '409 sold_out')).toHaveLength(count - 1);
      const balances = await Promise.all(buyers.map(({ key }) => balanceOf(key)));
      expect(balances.filter((balance) => balance === '15.04')).toHaveLength(1);
      expect(balances.filter((balance) => balance === '39.4')).toHaveLength(count - 1);
      await setSwitches({ products: { 'stoneware-mug-sea': { stock: 100 } } });
    },
  );
}

interface Misbehaviour {
  readonly behaviour: object;
  readonly status: number;
  readonly said: string;
  readonly isRepresentative: boolean;
}
const misbehaviours: readonly Misbehaviour[] = [
  { behaviour: { refuseAddress: true }, status: 409, said: 'address_refused', isRepresentative: false },
  { behaviour: { askForBuyer: 'create' }, status: 409, said: 'needs_buyer', isRepresentative: false },
  { behaviour: { askForBuyer: 'complete' }, status: 409, said: 'needs_buyer', isRepresentative: true },
  { behaviour: { raisePriceBy: 100 }, status: 409, said: 'order_failed', isRepresentative: false },
  { behaviour: { redeemMore: 1 }, status: 409, said: 'order_failed', isRepresentative: true },
  { behaviour: { redeemCurrency: 'EUR' }, status: 409, said: 'order_failed', isRepresentative: false },
  { behaviour: { refuseAfterRedeeming: true }, status: 409, said: 'order_failed', isRepresentative: true },
  { behaviour: { redeemTwice: true }, status: 200, said: 'completed', isRepresentative: true },
  { behaviour: { answerLateMs: 500 }, status: 200, said: 'completed', isRepresentative: false },
  { behaviour: { answer: 'twice' }, status: 200, said: 'completed', isRepresentative: false },
  { behaviour: { answer: 'garbage' }, status: 200, said: 'completed', isRepresentative: true },
  { behaviour: { answer: 'error' }, status: 200, said: 'completed', isRepresentative: false },
];
for (const { behaviour, status, said, isRepresentative } of misbehaviours) {
  const name = `a shop made to behave like ${JSON.stringify(behaviour)}: ${status} ${said}`;
  test(name, oneOfMany({ isRepresentative }), async () => {
    await setSwitches({ behaviour });
    const key = await newBuyer();
    const { status: answered, body } = await buy(key);
    expect([answered, body.code ?? body.status]).toEqual([status, said]);
    expect(await balanceOf(key)).toBe(status === 200 ? '75.64' : '100');
    await setSwitches({ behaviour: {} });
  });
}
