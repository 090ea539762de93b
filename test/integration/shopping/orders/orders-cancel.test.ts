// @module-tag thorough
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { addOrderCommands } from '../../../../src/shopping/orders/commands.ts';
import type { TestAccount } from '../../../support/client.ts';
import { useOrders } from '../../../support/orders.ts';
import {
  complete,
  describeSession,
  type MerchantCall,
  type MerchantSession,
  startUcpMerchant,
} from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const shop = await startUcpMerchant();
const hooked = await startUcpMerchant();
// None of these shops decides anything before the buyer has an answer, so it may come soon.
const world = useOrders(shop, {
  env: { ALLOW_PRIVATE_HOSTS: `${shop.website},${hooked.website}` },
  settings: { orders: { waitSeconds: 1 } },
});
const { service, db, buy, balance, orderOf, owedToShop, expectSound, untilDecided } = world;

afterEach(expectSound);

const wake = (id: string) => wakeSaga(db, { saga: 'order', id, lane: 'shops' });

const cancel = (orderId: string, key = world.buyer.key) =>
  service.client.post(`/shopping/orders/${orderId}/cancel`, undefined, key);

/** The shop has redeemed, and says that it goes on with it, however often it is asked. */
const neverEnds = async (session: MerchantSession, call: MerchantCall) => {
  if (session.status === 'ready_for_complete') expect((await shop.redeem(session, call)).status).toBe(200);
  session.status = 'complete_in_progress';
  return { status: 200, body: describeSession(session) };
};

/** An order that a shop has redeemed and does not decide. */
async function undecided(): Promise<string> {
  shop.hooks = { complete: neverEnds, look: stays, cancel: stays };
  const { status, body } = await buy();
  expect([status, body.status]).toEqual([202, 'pending']);
  await until('the shop to redeem', async () => [...shop.sessions.values()].at(-1)?.status === 'complete_in_progress');
  return body.orderId;
}

const stays = (session: MerchantSession) => ({ status: 200, body: describeSession(session) });

/** Its time is over, and with `void_at` its last deadline has passed as well. */
async function pass(orderId: string, deadline: 'expires_at' | 'void_at'): Promise<void> {
  await db.query('UPDATE orders SET expires_at = now() WHERE id = $1', [orderId]);
  if (deadline === 'void_at') await db.query('UPDATE orders SET void_at = now() WHERE id = $1', [orderId]);
  await wake(orderId);
}

const untilItWaits = (orderId: string) =>
  until('it to wait for the shop', async () => {
    const { rows } = await db.query('SELECT waits_for FROM orders WHERE id = $1', [orderId]);
    return /whether it has the order/.test(String(rows[0]?.['waitsFor']));
  });

/** What happened to the buyer's balance and to what the shop is owed. */
async function moved(work: () => Promise<unknown>): Promise<[number, number]> {
  const before = [Number(await balance()), await owedToShop()] as const;
  await work();
  return [Math.round((Number(await balance()) - before[0]) * 100), (await owedToShop()) - before[1]];
}

let seller: TestAccount;
let says: (type: string) => string;
const got: string[] = [];
/** The same messages, whole. */
const messages: string[] = [];
const registered = (method: string, path = '', body?: unknown) =>
  service.client.request(method, `/shopping/merchants${path}`, { key: seller.key, body });
const domain = encodeURIComponent(hooked.website);

beforeAll(async () => {
  seller = await service.client.register();
});

/** A shop that gets its orders by webhook. */
async function openHook(): Promise<void> {
  const { proof } = (await registered('POST', '', { website: hooked.website, ordersUrl: `${hooked.origin}/hook` }))
    .body;
  hooked.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
  expect((await registered('POST', `/${domain}/verify`)).status).toBe(200);
  got.length = 0;
  messages.length = 0;
  hooked.files['/hook'] = ({ body }) => {
    got.push(String(body['type']));
    messages.push(JSON.stringify(body));
    return { status: 200, body: { status: says(String(body['type'])) } };
  };
}

describe('the last deadline', () => {
  test('ends an order that a shop has redeemed and never decides: all the money is back, and it cannot be redeemed', async () => {
    let replay = async (): Promise<unknown> => undefined;
    const money = await moved(async () => {
      const orderId = await undecided();
      const redeem = shop.calls.find(({ path }) => path.endsWith('/complete')) as MerchantCall;
      const session = [...shop.sessions.values()].at(-1) as MerchantSession;
      replay = async () => (await shop.redeem(session, redeem)).body;
      expect(await replay()).toMatchObject({ status: 'redeemed', void_at: (await orderOf(orderId)).voidAt });
      await pass(orderId, 'expires_at');
      await untilItWaits(orderId);
      expect((await orderOf(orderId)).status).toBe('pending');
      await pass(orderId, 'void_at');
      expect(await untilDecided(orderId)).toMatchObject({ status: 'failed', errorCode: 'no_answer' });
    });
    expect(money).toEqual([0, 0]);
    expect(await replay()).toMatchObject({ status: 410, code: 'credential_void' });
  });

  test('asks a checkout once more: a shop that has completed is paid', async () => {
    const money = await moved(async () => {
      const orderId = await undecided();
      shop.hooks.look = (session) => complete(session);
      await pass(orderId, 'void_at');
      expect((await untilDecided(orderId)).status).toBe('completed');
    });
    expect(money).toEqual([-2436, 2400]);
  });

  test('ends an order that a shop by webhook never decides, also after it has given up its domain', async () => {
    await openHook();
    says = () => 'pending';
    const before = await balance();
    const { orderId } = (await buy({ website: hooked.website })).body;
    await until('the order to be sent', async () => got.length > 0);
    expect((await registered('DELETE', `/${domain}`)).status).toBe(200);
    await service.client.post('/webhooks', { url: 'https://hooks.example/', events: ['order.failed'] }, seller.key);
    await pass(orderId, 'void_at');
    expect(await untilDecided(orderId)).toMatchObject({ status: 'failed', errorCode: 'no_answer' });
    expect([await balance(), got.at(-1)]).toEqual([before, 'order.cancelled']);
    // The shop was asked, so it is told that nothing may be sent.
    await until('the shop to be told', async () => {
      const { rows } = await db.query<{ body: string }>('SELECT body FROM webhook_deliveries');
      return rows.some(({ body }) => JSON.parse(body).data.role === 'seller');
    });
  });
});

describe('an order from a backup that was put back', () => {
  /** The shop was asked and has taken it since; the backup knows of neither. */
  async function restored(): Promise<string> {
    shop.hooks = { complete: asksForTime, look: stays, cancel: stays };
    const { orderId } = (await buy()).body;
    await db.query('UPDATE orders SET asked_at = NULL WHERE id = $1', [orderId]);
    const said: string[] = [];
    const program = new Command();
    addOrderCommands(
      program,
      (work) => work({ db } as never),
      (line) => said.push(line),
    );
    await program.parseAsync(['orders', 'restored'], { from: 'user' });
    expect(said).toEqual(['Open orders: 1. Each shop is asked before its buyer is refunded.']);
    shop.hooks = { look: (session) => complete(session), cancel: (session) => complete(session) };
    return orderId;
  }

  const asksForTime = (session: MerchantSession) => {
    session.status = 'complete_in_progress';
    return { status: 200, body: describeSession(session) };
  };

  test('is not given back to a buyer who cancels it: the shop is asked, and paid', async () => {
    const money = await moved(async () => {
      const { status, body } = await cancel(await restored());
      expect([status, body.code]).toEqual([409, 'order_taken']);
    });
    expect(money).toEqual([-2436, 2400]);
  });

  test('is not given back when its time is over: the shop is asked, and paid', async () => {
    const money = await moved(async () => {
      const orderId = await restored();
      await pass(orderId, 'void_at');
      expect((await untilDecided(orderId)).status).toBe('completed');
    });
    expect(money).toEqual([-2436, 2400]);
  });
});

describe('a buyer who cancels', () => {
  test('an order that no shop can have taken has the money at once, and the shop cannot redeem', async () => {
    let redeem = async (): Promise<unknown> => undefined;
    shop.hooks.complete = (session, call) => {
      redeem = async () => (await shop.redeem(session, call)).body;
      return { status: 503, body: {} };
    };
    const money = await moved(async () => {
      const { orderId } = (await buy()).body;
      await until('the shop to be asked', async () => shop.calls.some(({ path }) => path.endsWith('/complete')));
      const { status, body } = await cancel(orderId);
      expect([status, body.status, body.errorCode]).toEqual([200, 'failed', 'cancelled']);
      expect(await redeem()).toMatchObject({ status: 410, code: 'credential_void' });
      await until('the shop to be told', async () => shop.calls.some(({ path }) => path.endsWith('/cancel')));
      // Sent again it is answered the same.
      const again = await cancel(orderId);
      expect([again.status, again.body]).toEqual([200, body]);
    });
    expect(money).toEqual([0, 0]);
  });

  test('while the purchase waits for the shop: it is answered that the order was cancelled', async () => {
    let answered = false;
    shop.hooks.complete = async () => {
      const { rows } = await db.query<{ id: string }>('SELECT id FROM orders ORDER BY id DESC LIMIT 1');
      // The shop may be asked once more before the cancellation is seen.
      answered ||= (await cancel(rows[0]?.id ?? '')).status === 200;
      return { status: 503, body: {} };
    };
    const { body } = await buy();
    expect([answered, body.code, body.reason]).toEqual([true, 'order_failed', 'cancelled']);
  });

  test('several times at once gets the money back once, and may buy it again', async () => {
    const again = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    shop.hooks.complete = () => ({ status: 503, body: {} });
    const money = await moved(async () => {
      const { orderId } = (await buy(again)).body;
      const replies = await Promise.all(Array.from({ length: 5 }, () => cancel(orderId)));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      shop.hooks = {};
      expect((await buy(again)).status).toBe(200);
    });
    expect(money).toEqual([-2436, 2400]);
  });

  test('an order that the shop has redeemed: it is asked to cancel, and not to take it any more', async () => {
    const money = await moved(async () => {
      const orderId = await undecided();
      const { status, body } = await cancel(orderId);
      expect([status, body.status, body.cancelRequestedAt]).toEqual([202, 'pending', expect.any(String)]);
      await until('the shop to be asked', async () => shop.calls.some(({ path }) => path.endsWith('/cancel')));
      shop.hooks.cancel = (session) => {
        session.status = 'canceled';
        return stays(session);
      };
      const again = await cancel(orderId);
      expect([again.status, again.body.errorCode]).toEqual([200, 'cancelled']);
      expect(shop.calls.filter(({ path }) => path.endsWith('/complete'))).toHaveLength(1);
    });
    expect(money).toEqual([0, 0]);
  });

  test('an order that the shop turns out to have taken is told so, and the shop is paid', async () => {
    const money = await moved(async () => {
      const orderId = await undecided();
      shop.hooks.cancel = (session) => complete(session);
      const { status, body } = await cancel(orderId);
      expect([status, body.code, body.orderId]).toEqual([409, 'order_taken', orderId]);
      expect((await cancel(orderId)).body.code).toBe('order_taken');
    });
    expect(money).toEqual([-2436, 2400]);
  });

  test('an order by webhook: the shop’s word decides, and it is not sent the order again', async () => {
    await openHook();
    says = (type) => (type === 'order.placed' ? 'pending' : 'cancelled');
    const before = await balance();
    const { orderId } = (await buy({ website: hooked.website })).body;
    await until('the order to be sent', async () => got.length > 0);
    const { status, body } = await cancel(orderId);
    expect([status, body.status, body.errorCode]).toEqual([200, 'failed', 'cancelled']);
    expect(await balance()).toBe(before);
    // The request and the order's own step may both send it: then it is the same message, and nothing else follows.
    const since = got.indexOf('order.cancelled');
    expect(got.slice(since).every((type) => type === 'order.cancelled')).toBe(true);
    expect(JSON.parse(messages[since] ?? '{}')).toMatchObject({ orderId });
    expect(new Set(messages.slice(since)).size).toBe(1);
  });

  test('has to be the buyer, with a key that may pay', async () => {
    const orderId = await undecided();
    const stranger = await service.client.register();
    for (const [id, key] of [
      [orderId, stranger.key],
      ['ord_none', world.buyer.key],
    ] as const) {
      const { status, body } = await cancel(id, key);
      expect([status, body.code]).toEqual([404, 'order_not_found']);
    }
    expect((await orderOf(orderId)).cancelRequestedAt).toBeNull();
    shop.hooks = {};
    expect((await cancel(orderId)).status).toBe(200);
  });
});
