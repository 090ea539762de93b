import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../../support/client.ts';
import { home, useOrders } from '../../../support/orders.ts';
import { describeSession, startUcpMerchant } from '../../../support/ucp-merchant.ts';
import { complaintsAboutRequest } from '../../../support/ucp-schemas.ts';

const shop = await startUcpMerchant();
const older = await startUcpMerchant({ version: '2026-04-08' });
const unlisted = await startUcpMerchant({ listed: false });
const world = useOrders(shop, {
  env: { ALLOW_PRIVATE_HOSTS: [shop, older, unlisted].map(({ website }) => website).join() },
});
older.connect(() => world.service.url);
const { service, buy, balance, orderOf, owedToShop, expectSound } = world;

afterEach(expectSound);

const option = (id: string, amount: number) => ({ id, title: id, totals: [{ type: 'total', amount }] });

describe('a purchase', () => {
  test('is answered when the shop has the order and is paid', async () => {
    const [before, owed] = [await balance(), await owedToShop()];
    const { status, body } = await buy({ shippingAddress: home });
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        orderId: expect.stringMatching(/^ord_/),
        transferId: expect.stringMatching(/^trf_/),
        productTitle: 'Blue Kettle',
        variant: null,
        quantity: 1,
        amount: 24,
        fee: 0.36,
        total: 24.36,
        currency: 'USDC',
        status: 'completed',
      },
    ]);
    expect(Number(before) - Number(await balance())).toBeCloseTo(24.36, 6);
    expect((await owedToShop()) - owed).toBe(2400);
    expect(await orderOf(body.orderId)).toMatchObject({
      status: 'completed',
      website: shop.website,
      productTitle: 'Blue Kettle',
      merchantUrl: 'https://shop.example/orders/1',
      shippingAddress: { name: 'Ada Lovelace', street: '1 Main St', postalCode: '94105', country: 'US' },
    });
    const { transfers } = (await service.client.get('/circle/transfers?limit=1', world.buyer.key)).body;
    expect(transfers[0]).toMatchObject({ transferId: body.transferId, type: 'order', amount: 24.36, fee: 0.36 });
  });

  test('takes what the shop asks in all, at most what was agreed', async () => {
    shop.shipping = 450;
    const dearer = await buy();
    expect([dearer.status, dearer.body.code, dearer.body.total]).toEqual([409, 'price_changed', 28.5]);
    expect((await buy({ amount: 30 })).body).toMatchObject({ amount: 28.5, fee: 0.42, total: 28.92 });
  });

  test('tells the shop where to send it', async () => {
    await buy({
      shippingAddress: { name: 'Ada', street: '1 Main St', postalCode: '94105', city: 'SF', country: 'US' },
    });
    const update = shop.calls.find(({ method }) => method === 'PUT');
    expect(update?.body).toMatchObject({
      buyer: { first_name: 'Ada' },
      fulfillment: {
        methods: [{ type: 'shipping', destinations: [{ street_address: '1 Main St', postal_code: '94105' }] }],
      },
    });
  });

  test.each([
    ['2026-08-25', shop],
    ['2026-04-08', older],
  ] as const)('speaks %s, as its schemas have it', async (version, { website, calls, hooks }) => {
    // A shop that leaves the choice of shipping to us.
    hooks.update = (session, { body }) => {
      const [method] = (body['fulfillment'] as { methods: { groups?: object[] }[] }).methods;
      const group = { id: 'parcel', line_item_ids: ['li_1'], options: [option('dear', 900), option('cheap', 0)] };
      session.fulfillment = { methods: [{ id: 'ship', ...method, groups: [{ ...group, ...method?.groups?.[0] }] }] };
      if (method?.groups !== undefined) session.status = 'ready_for_complete';
      return { status: 200, body: describeSession(session) };
    };
    expect((await buy({ website })).status).toBe(200);
    const asked = calls.filter(({ path }) => path.startsWith('/ucp/checkout-sessions'));
    const operations = asked.map(({ method, path }) =>
      path.endsWith('/complete') ? 'complete' : method === 'PUT' ? 'update' : 'create',
    );
    expect(operations).toEqual(['create', 'update', 'update', 'complete']);
    expect(JSON.stringify(asked[2]?.body)).toContain('"selected_option_id":"cheap"');
    for (const [index, { body }] of asked.entries()) {
      expect(complaintsAboutRequest(version, operations[index] ?? 'create', body), operations[index]).toEqual([]);
    }
  });
});

describe('before money moves', () => {
  const refusals: readonly [string, Record<string, unknown>, number, string][] = [
    ['a shop that is none', { website: 'localhost' }, 400, 'invalid_request'],
    ['a payment method in capitals', { paymentMethod: 'USDC' }, 400, 'invalid_request'],
    ['an amount of nothing', { amount: 0 }, 400, 'invalid_request'],
    ['too many decimals', { amount: 24.0000001 }, 400, 'invalid_request'],
    ['an unknown field', { count: 2 }, 400, 'invalid_request'],
    ['none of it', { quantity: 0 }, 400, 'invalid_request'],
    ['half of one', { quantity: 1.5 }, 400, 'invalid_request'],
    ['more than anyone needs', { quantity: 101 }, 400, 'invalid_request'],
    ['a variant that it does not have', { productVariant: 'XL' }, 404, 'product_not_found'],
    ['no address at all', { shippingAddress: undefined }, 400, 'shipping_address_required'],
    [
      'hidden text in an address',
      { shippingAddress: home.replace(',', '\u{e0101}\u{e0132},') },
      400,
      'invalid_request',
    ],
    ['hidden text in a part of one', { shippingAddress: { phone: '+1\u3164\u3164' } }, 400, 'invalid_request'],
    ['half an address', { shippingAddress: 'Ada, 1 Main St' }, 400, 'shipping_address_incomplete'],
    ['another title', { productTitle: 'Blue Kettles' }, 404, 'product_not_found'],
    ['another brand', { productBrand: 'Pot' }, 404, 'product_not_found'],
    ['too little', { amount: 23.99 }, 409, 'price_changed'],
    ['the other coin', { paymentMethod: 'eurc' }, 400, 'currency_mismatch'],
  ];
  test.each(refusals)('%s is refused', async (_what, changed, status, code) => {
    const before = await balance();
    const reply = await buy(changed);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
    expect(await balance()).toBe(before);
  });

  test.each([
    ['a shop without a profile', () => 'closed-shop.example'],
    ['one with a checkout that does not list our way of paying', () => unlisted.website],
  ])('%s is not gated', async (_what, website) => {
    const other = await buy({ website: website() });
    expect([other.status, other.body.code]).toEqual([403, 'merchant_not_gated']);
    expect(unlisted.calls.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('an empty balance is told of', async () => {
    const poor = await service.client.register();
    const reply = await buy({}, { key: poor.key });
    expect([reply.status, reply.body.code]).toEqual([400, 'insufficient_balance']);
  });

  test('an address on file is used, and one that is given is not saved', async () => {
    const { key } = await world.fundedBuyer('100');
    await service.client.patch('/account', { shippingAddress: home }, key);
    expect((await buy({ shippingAddress: undefined }, { key })).status).toBe(200);
    expect((await buy({}, { key })).status).toBe(200);
    expect((await service.client.get('/account', key)).body.shippingAddress).toBe(home);
  });

  test('an address that names nobody is for the owner of the account', async () => {
    const { key } = await world.fundedBuyer('100');
    await service.client.patch(
      '/account',
      { name: 'Grace Hopper', shippingAddress: '1 Main St, Austin, TX 78701' },
      key,
    );
    const { body } = await buy({ shippingAddress: undefined }, { key });
    const { body: order } = await service.client.get(`/shopping/orders/${body.orderId}`, key);
    expect(order.shippingAddress).toEqual({
      name: 'Grace Hopper',
      street: '1 Main St',
      postalCode: '78701',
      city: 'Austin',
      region: 'TX',
      country: 'US',
    });
  });

  test('an address that was saved before addresses were checked is refused when buying', async () => {
    const { key, handle } = await world.fundedBuyer('100');
    await world.db.query("UPDATE accounts SET shipping_address = '1 Main St' WHERE handle = $1", [handle]);
    const { status, body } = await buy({ shippingAddress: undefined }, { key });
    expect([status, body.code, body.missing]).toEqual([
      400,
      'shipping_address_incomplete',
      ['postalCode', 'city', 'country'],
    ]);
    expect((await service.client.get('/account', key)).body.shippingAddress).toBe('1 Main St');
  });
});

describe('sent again', () => {
  test('under the same key nothing is bought twice, also at once', async () => {
    const before = Number(await balance());
    const idempotencyKey = randomUUID();
    const address = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    const replies = await Promise.all(Array.from({ length: 5 }, () => buy(address, { idempotencyKey })));
    const again = await buy(address, { idempotencyKey });
    const ids = [...replies, again].filter(({ status }) => status === 200).map(({ body }) => body.orderId);
    expect(new Set(ids).size).toBe(1);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(before - Number(await balance())).toBeCloseTo(24.36, 6);
    const other = await buy({ ...address, amount: 25 }, { idempotencyKey });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
  });

  test('under the same key it is no duplicate of the order that was placed while it looked for the product', async () => {
    const idempotencyKey = randomUUID();
    const address = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    let first: Reply | undefined;
    shop.files['/ucp/catalog/search'] = async ({ path, text }) => {
      shop.files = {};
      first = await buy(address, { idempotencyKey });
      const headers = { 'content-type': 'application/json' };
      const found = await fetch(`${shop.origin}${path}`, { method: 'POST', headers, body: text });
      return { status: 200, body: await found.json() };
    };
    const second = await buy(address, { idempotencyKey });
    expect([first?.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, 'true']);
    expect(second.body).toEqual(first?.body);
  });

  test('under fresh keys it is a possible duplicate, until the buyer says otherwise', async () => {
    const address = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    const first = await buy(address, { idempotencyKey: randomUUID() });
    const second = await buy(address, { idempotencyKey: randomUUID() });
    expect([second.status, second.body.code]).toEqual([409, 'possible_duplicate']);
    expect([second.body.orderId, second.body.orderStatus]).toEqual([first.body.orderId, 'completed']);
    const meant = await buy({ ...address, notDuplicateOf: first.body.orderId });
    expect(meant.status).toBe(200);
    // Whoever sends that one again is told of the newer order.
    const third = await buy({ ...address, notDuplicateOf: first.body.orderId });
    expect(third.body.orderId).toBe(meant.body.orderId);
  });

  test('at once without any key one is bought', async () => {
    const address = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    const replies = await Promise.all(Array.from({ length: 6 }, () => buy(address)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });
});

test('orders are listed, newest first, and are nobody else’s', async () => {
  const { key } = await world.fundedBuyer('100');
  const first = (await buy({}, { key })).body.orderId;
  const second = (await buy({}, { key })).body.orderId;
  const list = async (query: string) =>
    (await service.client.get(`/shopping/orders${query}`, key)).body.orders.map(
      ({ orderId }: { orderId: string }) => orderId,
    );
  expect(await list('')).toEqual([second, first]);
  expect(await list('?limit=1')).toEqual([second]);
  expect(await list('?status=failed')).toEqual([]);
  expect(await list('?status=completed')).toEqual([second, first]);
  expect((await service.client.get(`/shopping/orders/${first}`, world.buyer.key)).status).toBe(404);
});
