import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useOrders } from '../../../support/orders.ts';
import { describeSession, startUcpMerchant } from '../../../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop);
const { service, buy, balance, orderOf, owedToShop, expectSound } = world;

afterEach(expectSound);
beforeEach(() => {
  shop.title = 'Linen Shirt';
  shop.price = 3000;
  shop.variants = [
    { id: 'v-s', size: 'S', price: 3000 },
    { id: 'v-m', size: 'M', price: 3500 },
    { id: 'v-l', size: 'L', price: 3900 },
  ];
});

const large = { id: 'v-l', title: 'L', options: [{ name: 'Size', value: 'L' }] };
const buyShirt = (changed: object = {}) => buy({ productTitle: 'Linen Shirt', amount: 100, ...changed });
const checkouts = () => shop.calls.filter(({ path }) => path.endsWith('/checkout-sessions'));

describe('a product with variants', () => {
  test('is not bought before one is chosen: the answer lists them', async () => {
    const before = await balance();
    const { status, body } = await buyShirt();
    expect([status, body.code]).toEqual([409, 'product_ambiguous']);
    expect(body.variants).toEqual([
      {
        id: 'v-s',
        title: 'S',
        options: [{ name: 'Size', value: 'S' }],
        price: '$30.00',
        priceNum: 30,
        available: null,
      },
      {
        id: 'v-m',
        title: 'M',
        options: [{ name: 'Size', value: 'M' }],
        price: '$35.00',
        priceNum: 35,
        available: null,
      },
      { ...large, price: '$39.00', priceNum: 39, available: null },
    ]);
    expect([await balance(), checkouts().length]).toEqual([before, 0]);
  });

  test.each([
    ['its id', { productVariant: 'v-l' }],
    ['its title', { productVariant: 'l' }],
    ['the title of the product and its own', { productTitle: 'Linen Shirt L' }],
  ])('is bought as the variant that is named by %s', async (_how, named) => {
    const owed = await owedToShop();
    const { status, body } = await buyShirt(named);
    expect([status, body]).toMatchObject([
      200,
      { productTitle: 'Linen Shirt', variant: large, quantity: 1, amount: 39, fee: 0.58, total: 39.58 },
    ]);
    expect(checkouts()[0]?.body).toMatchObject({ line_items: [{ item: { id: 'v-l' }, quantity: 1 }] });
    expect((await owedToShop()) - owed).toBe(3900);
    expect(await orderOf(body.orderId)).toMatchObject({ productTitle: 'Linen Shirt', variant: large, quantity: 1 });
  });

  test('is found by a search that shows its variants', async () => {
    const { body } = await service.client.post(
      '/shopping/search',
      { website: shop.website, query: 'shirt' },
      world.buyer.key,
    );
    expect(body.products).toMatchObject([
      { title: 'Linen Shirt', price: '$30.00', variants: [{ id: 'v-s' }, {}, large] },
    ]);
  });

  test('is found although the shop looks for every word in its title', async () => {
    const catalog = '/ucp/catalog/search';
    const answer = await fetch(`${shop.origin}${catalog}`, { method: 'POST', body: '{}' });
    const found = (await answer.json()) as object;
    shop.files[catalog] = ({ body }) => ({
      status: 200,
      body: body['query'] === 'Linen Shirt' ? found : { ...found, products: [] },
    });
    expect((await buyShirt({ productTitle: 'Linen Shirt M' })).body).toMatchObject({
      variant: { id: 'v-m' },
      amount: 35,
    });
  });

  test('in two variants to one address is no repetition, and the same one is', async () => {
    const shippingAddress = 'Ada, 9 Main St, 94105 San Francisco, US';
    expect((await buyShirt({ productVariant: 'L', shippingAddress })).status).toBe(200);
    expect((await buyShirt({ productVariant: 'M', shippingAddress })).status).toBe(200);
    expect((await buyShirt({ productVariant: 'M', quantity: 2, shippingAddress })).status).toBe(200);
    expect((await buyShirt({ productTitle: 'Linen Shirt, L', shippingAddress })).body.code).toBe('possible_duplicate');
  });
});

describe('a quantity', () => {
  test('is ordered, charged and kept', async () => {
    const { body } = await buyShirt({ productVariant: 'S', quantity: 3 });
    expect(body).toMatchObject({ quantity: 3, amount: 90, fee: 1.34, total: 91.34 });
    expect(checkouts()[0]?.body).toMatchObject({ line_items: [{ item: { id: 'v-s' }, quantity: 3 }] });
    expect(await orderOf(body.orderId)).toMatchObject({ quantity: 3, variant: { id: 'v-s' } });
  });
});

test.each([
  ['another variant', { item: { id: 'v-s' }, quantity: 1 }],
  ['another quantity', { item: { id: 'v-l' }, quantity: 2 }],
])('a shop that puts %s into its checkout sells nothing', async (_what, line) => {
  const before = await balance();
  shop.hooks.update = (session) => {
    session.status = 'ready_for_complete';
    return { status: 200, body: { ...describeSession(session), line_items: [{ id: 'li_1', totals: [], ...line }] } };
  };
  const { body } = await buyShirt({ productVariant: 'L' });
  expect(body).toMatchObject({ code: 'order_failed', detail: expect.stringContaining('another product or quantity') });
  expect(await balance()).toBe(before);
});

test('a title that fits nothing is answered with what is closest', async () => {
  const { status, body } = await buyShirt({ productTitle: 'Linen Skirt' });
  expect([status, body.code]).toEqual([404, 'product_not_found']);
  expect(body.closest).toMatchObject([{ title: 'Linen Shirt', brand: 'Hob', variants: [{ id: 'v-s' }, {}, {}] }]);
});
