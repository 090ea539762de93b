// @module-tag thorough
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useOrders } from '../../../support/orders.ts';
import {
  complete,
  describeSession,
  type MerchantCall,
  type MerchantSession,
  startUcpMerchant,
} from '../../../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
// None of these shops decides anything before the buyer has his answer, so it may come soon.
const world = useOrders(shop, { settings: { orders: { waitSeconds: 1 } } });
const { service, db, buy, expectSound } = world;

afterEach(expectSound);

describe('a purchase', () => {
  test('is pending when the shop takes long, and finished by itself', async () => {
    shop.hooks.complete = async (session, call) => {
      await shop.redeem(session, call);
      session.status = 'complete_in_progress';
      return { status: 200, body: { ...session } };
    };
    const { status, body } = await buy();
    expect([status, body.success, body.status]).toEqual([202, false, 'pending']);
    shop.hooks.look = (session) => complete(session);
    expect(await world.untilDecided(body.orderId)).toMatchObject({ status: 'completed', total: 24.36 });
  });
});

describe('a purchase that is sent again without a key', () => {
  const isSlow = async (session: MerchantSession, call: MerchantCall) => {
    await shop.redeem(session, call);
    session.status = 'complete_in_progress';
    return { status: 200, body: { ...session } };
  };
  const olderBy = (column: 'created_at' | 'finished_at', orderId: string) =>
    db.query(`UPDATE orders SET ${column} = ${column} - interval '11 minutes' WHERE id = $1`, [orderId]);

  /** The shop has taken it, and is asked at once. */
  async function decide(orderId: string): Promise<void> {
    shop.hooks.look = (session) => complete(session);
    await wakeSaga(db, { saga: 'order', id: orderId, lane: 'shops' });
    await world.untilDecided(orderId);
  }

  test('is refused as long as the first is open, and ten minutes from its end', async () => {
    const again = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    shop.hooks = { complete: isSlow };
    const { body: first } = await buy(again);
    expect(first.status).toBe('pending');
    await olderBy('created_at', first.orderId);
    const meanwhile = await buy(again);
    expect([meanwhile.status, meanwhile.body]).toMatchObject([
      409,
      { code: 'possible_duplicate', orderId: first.orderId, orderStatus: 'pending', statusUrl: first.statusUrl },
    ]);

    await decide(first.orderId);
    expect((await buy(again)).body).toMatchObject({ code: 'possible_duplicate', orderStatus: 'completed' });

    shop.hooks = {};
    await db.query('ALTER TABLE orders DISABLE TRIGGER orders_update_guard');
    await olderBy('finished_at', first.orderId);
    await db.query('ALTER TABLE orders ENABLE TRIGGER orders_update_guard');
    expect((await buy(again)).status).toBe(200);
  });

  test('may be meant, and is then refused in the name of the newer one', async () => {
    const again = { shippingAddress: `Ada, ${randomUUID()} 1, 94105 San Francisco, US` };
    shop.hooks.complete = isSlow;
    const { body: first } = await buy(again);
    const { body: second } = await buy({ ...again, notDuplicateOf: first.orderId });
    expect(second.status).toBe('pending');
    const third = await buy({ ...again, notDuplicateOf: first.orderId });
    expect([third.body.code, third.body.orderId]).toEqual(['possible_duplicate', second.orderId]);
    for (const { orderId } of [first, second]) await decide(orderId);
  });

  test('is told where to look', async () => {
    shop.hooks.complete = isSlow;
    const { status, body } = await buy();
    expect([status, body.statusUrl]).toEqual([202, `${service.url}/api/shopping/orders/${body.orderId}`]);
    const looked = await fetch(body.statusUrl, { headers: { authorization: `Bearer ${world.buyer.key}` } });
    expect(await looked.json()).toMatchObject({ orderId: body.orderId, status: 'pending' });
    await decide(body.orderId);
  });
});

describe('a shop that speaks of another checkout', () => {
  for (const status of ['completed', 'canceled', 'requires_escalation']) {
    const options = oneOfMany({ isRepresentative: status === 'completed' });
    test(`as ${status} has not said what became of ours`, options, async () => {
      const another = { id: 'chk_other', order: { id: 'K-2' }, status, continue_url: 'https://shop.example/' };
      const speak = (session: MerchantSession) => {
        session.status = 'ready_for_complete';
        return { status: 200, body: { ...describeSession(session), ...another } };
      };
      shop.hooks.complete = speak;
      shop.hooks.look = speak;
      const placed = await buy();
      expect([placed.status, placed.body.status]).toEqual([202, 'pending']);
      shop.hooks = {};
      expect((await world.untilDecided(placed.body.orderId)).status).toBe('completed');
    });
  }
});
