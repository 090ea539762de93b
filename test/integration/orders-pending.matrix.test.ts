import { afterEach, describe, expect, test } from 'vitest';
import { oneOfMany } from '../support/matrix.ts';
import { useOrders } from '../support/orders.ts';
import { describeSession, type MerchantSession, startUcpMerchant } from '../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
// None of these shops decides anything before the buyer has his answer, so it may come soon.
const world = useOrders(shop, { env: { ORDER_ANSWER_SECONDS: '1' } });
const { buy, expectSound } = world;

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
    for (const session of shop.sessions.values()) {
      if (session.status === 'complete_in_progress') session.status = 'completed';
    }
    expect(await world.untilDecided(body.orderId)).toMatchObject({ status: 'completed', total: 24.36 });
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
