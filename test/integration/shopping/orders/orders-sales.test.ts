// @module-tag thorough
import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Order } from '../../../../src/shopping/orders/order.ts';
import { useOrders } from '../../../support/orders.ts';
import { startUcpMerchant } from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop);
const { service, buy, balance, owedToShop, expectSound, letExpire, untilDecided, orderOf } = world;

let seller: { readonly key: string; readonly handle: string };
let ordersSecret: string;

const sell = (method: string, path: string, body?: unknown, { key = seller.key, idempotencyKey = '' } = {}) =>
  service.client.request(method, `/shopping${path}`, {
    key,
    body,
    headers: idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey },
  });

afterEach(expectSound);

beforeAll(async () => {
  seller = await service.client.register({ name: 'Kettle Ltd' });
});

test('what a shop was owed before it had an account is in its balance once it has proved its domain', async () => {
  await buy();
  await buy();
  expect(await owedToShop()).toBe(4800);
  const registered = await sell('POST', '/merchants', { website: shop.website });
  expect(registered.status).toBe(201);
  const { proof } = registered.body;
  shop.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
  expect((await sell('POST', `/merchants/${encodeURIComponent(shop.website)}/verify`)).status).toBe(200);
  expect(await owedToShop()).toBe(0);
  expect(await balance(seller.key)).toBe('48');
  // And from here on it is paid there.
  await buy();
  expect(await balance(seller.key)).toBe('72');
});

describe('a shop with an account', () => {
  test('sees what it has sold, and where to send it', async () => {
    const { sales } = (await sell('GET', '/sales')).body;
    expect(sales).toHaveLength(3);
    expect(sales[0]).toMatchObject({ productTitle: 'Blue Kettle', amount: 24, refundable: 24 });
    expect(sales[0].shippingAddress.city).toBe('San Francisco');
    expect(sales[0]).not.toHaveProperty('fee');
    const stranger = await service.client.register();
    expect((await sell('GET', '/sales', undefined, stranger)).body.sales).toEqual([]);
    expect((await sell('GET', `/sales/${sales[0].orderId}`, undefined, stranger)).status).toBe(404);
  });

  test('cannot buy from itself', async () => {
    expect((await buy({}, seller)).body.code).toBe('own_shop');
  });

  test('may redeem with its key instead of a signature', async () => {
    shop.hooks.complete = async (session, { body }) => {
      const [instrument] = (body['payment'] as { instruments: { credential: { token: string } }[] }).instruments;
      const { status } = await sell('POST', '/credentials/redeem', {
        token: instrument?.credential.token,
        checkout_id: session.id,
        amount: 2400,
        currency: 'USD',
      });
      session.status = status === 200 ? 'completed' : 'ready_for_complete';
      return { status: 200, body: { ...session } };
    };
    expect((await buy()).status).toBe(200);
  });

  test('marks an order as fulfilled, once, and the buyer sees the link', async () => {
    const { orderId } = (await buy()).body;
    const trackingUrl = 'https://parcel.example/1';
    for (const refused of ['javascript:alert(1)', `${trackingUrl}?\u{e0050}\u{e0041}\u{e0059}`]) {
      expect((await sell('POST', `/sales/${orderId}/fulfil`, { trackingUrl: refused })).status).toBe(400);
    }
    expect((await sell('POST', `/sales/${orderId}/fulfil`, { trackingUrl })).body.status).toBe('fulfilled');
    expect((await sell('POST', `/sales/${orderId}/fulfil`, {})).body.code).toBe('already_fulfilled');
    expect(await orderOf(orderId)).toMatchObject({ status: 'fulfilled', trackingUrl });
  });

  test('refunds a buyer who has closed the account since: the money is that account’s', async () => {
    const leaver = await world.fundedBuyer('24.36');
    const { orderId } = (await buy({}, leaver)).body;
    expect((await service.client.post('/account/close', { password: leaver.password }, leaver.key)).status).toBe(200);
    const before = Number(await balance(seller.key));
    expect((await sell('POST', `/sales/${orderId}/refund`)).status).toBe(200);
    expect(before - Number(await balance(seller.key))).toBeCloseTo(24, 6);
  });

  test('refunds in parts, never more than was paid, and never twice', async () => {
    const { orderId } = (await buy()).body;
    const [buyers, sellers] = [Number(await balance()), Number(await balance(seller.key))];
    const idempotencyKey = randomUUID();
    const part = () =>
      sell('POST', `/sales/${orderId}/refund`, { amount: 10, reason: 'Chipped' }, { ...seller, idempotencyKey });
    const [first, second] = [await part(), await part()];
    expect([first.status, first.body.sale.refundable]).toEqual([200, 14]);
    expect(second.body.refundId).toBe(first.body.refundId);
    const { transfers } = (await service.client.get('/circle/transfers?limit=1', world.buyer.key)).body;
    expect(transfers[0]).toMatchObject({ transferId: first.body.transferId, amount: 10 });
    expect(transfers[0].description).toMatch(/^Blue Kettle at .*: Chipped$/);
    expect((await sell('POST', `/sales/${orderId}/refund`, { amount: 14.01 })).body).toMatchObject({
      code: 'refund_too_large',
      refundable: 14,
    });
    // Ten who refund the rest at once: one does.
    const rest = await Promise.all(Array.from({ length: 10 }, () => sell('POST', `/sales/${orderId}/refund`)));
    expect(rest.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await orderOf(orderId)).toMatchObject({ status: 'refunded', refundedAmount: 24 });
    expect(Number(await balance()) - buyers).toBeCloseTo(24, 6);
    expect(sellers - Number(await balance(seller.key))).toBeCloseTo(24, 6);
  });

  test('refunds only from its own money', async () => {
    const { orderId } = (await buy()).body;
    const all = Number(await balance(seller.key));
    await service.client.post('/agent/transfer', { to: world.buyer.handle, amount: all, currency: 'USDC' }, seller.key);
    expect((await sell('POST', `/sales/${orderId}/refund`)).body.code).toBe('insufficient_balance');
    expect(await orderOf(orderId)).toMatchObject({ status: 'completed', refundedAmount: 0 });
  });

  test('both sides are told', async () => {
    for (const { key } of [world.buyer, seller]) {
      await service.client.post(
        '/webhooks',
        { url: 'https://hooks.example/', events: ['order.completed', 'order.failed'] },
        key,
      );
    }
    await buy();
    const told = await until('deliveries to both', async () => {
      const { rows: found } = await world.db.query<{ body: string }>(
        `SELECT body FROM webhook_deliveries WHERE body LIKE '%order.completed%'`,
      );
      return found.length === 2 && found.map(({ body }) => JSON.parse(body).data);
    });
    expect(told.map(({ role }: { role: string }) => role).sort()).toEqual(['buyer', 'seller']);
    expect(told.find(({ role }: { role: string }) => role === 'seller')).not.toHaveProperty('fee');
  });
});

describe('a shop that takes orders by webhook', () => {
  type Said = { readonly status: number; readonly body: unknown };
  let say: (message: Record<string, unknown>) => Said;
  const got: Record<string, unknown>[] = [];

  beforeAll(async () => {
    const url = `${shop.origin}/hook`;
    const registered = await sell('POST', '/merchants', { website: shop.website, ordersUrl: url });
    expect(registered.status).toBe(201);
    ordersSecret = registered.body.ordersSecret;
  });
  const listen = () => {
    got.length = 0;
    shop.files['/hook'] = ({ headers, text }) => {
      // Whoever cannot check the signature with the official library throws here, and the order never completes.
      const message = new Webhook(ordersSecret).verify(text, headers as Record<string, string>) as Record<
        string,
        unknown
      >;
      got.push(message);
      return say(message);
    };
  };

  test('gets it signed, and is paid when it accepts', async () => {
    listen();
    say = () => ({ status: 200, body: { status: 'accepted', orderId: 'W-1', url: 'https://shop.example/w/1' } });
    const before = Number(await balance(seller.key));
    const { status, body } = await buy();
    expect([status, body.status]).toEqual([200, 'completed']);
    expect(got[0]).toMatchObject({ type: 'order.placed', orderId: body.orderId, amount: 24, currency: 'USDC' });
    expect(Number(await balance(seller.key)) - before).toBe(24);
    expect(await orderOf(body.orderId)).toMatchObject({
      merchantOrderId: 'W-1',
      merchantUrl: 'https://shop.example/w/1',
    });
  });

  test('refuses: all the money is back', async () => {
    listen();
    say = () => ({ status: 200, body: { status: 'refused', reason: 'Closed on Mondays' } });
    const before = await balance();
    expect((await buy()).body).toMatchObject({
      code: 'order_failed',
      detail: expect.stringContaining('Closed on Mondays'),
    });
    expect(await balance()).toBe(before);
  });

  test('says something else first: it is asked again with the same message', async () => {
    listen();
    const answers = [
      { status: 500, body: {} },
      { status: 404, body: { oops: true } },
      { status: 200, body: { status: 'pending' } },
    ];
    say = () => answers.shift() ?? { status: 200, body: { status: 'accepted' } };
    expect((await buy()).status).toBe(200);
    expect(got).toHaveLength(4);
    expect(new Set(got.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test('stays silent: after its time it is told that it is taken back, and its word decides', async () => {
    listen();
    let cancels: Said = { status: 500, body: {} };
    say = ({ type }) => (type === 'order.cancelled' ? cancels : { status: 500, body: {} });
    const before = await balance();
    void buy();
    const id = await until('an order', async () => {
      const { rows } = await world.db.query<Pick<Order, 'id'>>('SELECT id FROM orders WHERE finished_at IS NULL');
      return rows[0]?.id;
    });
    await until('it to be sent', async () => got.some(({ type }) => type === 'order.placed'));
    await letExpire(id);
    await until('it to be taken back', async () => got.some(({ type }) => type === 'order.cancelled'));
    expect((await orderOf(id)).status).toBe('pending');
    cancels = { status: 200, body: { status: 'cancelled' } };
    expect((await untilDecided(id)).status).toBe('failed');
    expect(await balance()).toBe(before);
  });

  test('was never sent it before its time was over: all the money is back, whatever it says', async () => {
    listen();
    say = () => ({ status: 500, body: {} });
    await world.db.query(`CREATE FUNCTION be_late() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.expires_at := clock_timestamp(); RETURN NEW; END $$`);
    await world.db.query('CREATE TRIGGER late BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION be_late()');
    const before = await balance();
    const { body } = await buy();
    await world.db.query('DROP TRIGGER late ON orders');
    expect([body.code, body.reason]).toEqual(['order_failed', 'no_answer']);
    expect(await balance()).toBe(before);
    expect(got.filter(({ type }) => type === 'order.placed')).toEqual([]);
  });
});
