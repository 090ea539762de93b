import { afterEach, describe, expect, test } from 'vitest';
import { useOrders } from '../support/orders.ts';
import { describeSession, type MerchantSession, startUcpMerchant, totalsOf } from '../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop, { env: { ORDER_ANSWER_SECONDS: '1' } });
const { buy, balance, expectSound } = world;

afterEach(expectSound);

/** A shop that goes on, and says something strange besides. */
function ready(session: MerchantSession, strange: object = {}) {
  session.status = 'ready_for_complete';
  return { status: 200, body: { ...describeSession(session), ...strange } };
}

describe('a shop whose checkout has a name', () => {
  test.each([
    ['of half a character', 'chk_\ud83d'],
    ['with nothing in it', 'chk_\0'],
  ])('%s has none, and nothing is taken', async (_what, id) => {
    const before = await balance();
    const body = describeSession({
      id,
      status: 'ready_for_complete',
      currency: 'USD',
      totals: totalsOf(2400),
      messages: [],
    });
    shop.hooks.create = () => ({ status: 201, body });
    shop.files['/ucp/checkout-sessions/chk_%00'] = { status: 200, body };
    expect((await buy()).body.code).toBe('order_failed');
    expect(await balance()).toBe(before);
  });
});

describe('a shop that speaks of another checkout', () => {
  const strange = { id: 'chk_other', order: { id: 'K-2' } };

  test('while it is asked what it costs is not asked any more', async () => {
    shop.hooks.update = (session) => ready(session, strange);
    expect((await buy()).body.code).toBe('merchant_unsupported');
    expect(shop.calls.some(({ path }) => path.includes('chk_other'))).toBe(false);
  });

  test.each(['completed', 'canceled', 'requires_escalation'])(
    'as %s has not said what became of ours',
    async (status) => {
      shop.hooks.complete = (session) => ready(session, { ...strange, status, continue_url: 'https://shop.example/' });
      shop.hooks.look = (session) => ready(session, { ...strange, status, continue_url: 'https://shop.example/' });
      const placed = await buy();
      expect([placed.status, placed.body.status]).toEqual([202, 'pending']);
      shop.hooks = {};
      expect((await world.untilDecided(placed.body.orderId)).status).toBe('completed');
    },
  );
});

test.each(['$.constructor', '$.fulfillment.__proto__'])(
  'a shop that misses %s misses nothing that we know',
  async (path) => {
    shop.hooks.update = (session) => {
      session.messages = [{ type: 'error', code: 'missing', path, content: 'Where is it?' }];
      return { status: 200, body: describeSession(session) };
    };
    const { body } = await buy();
    expect([body.code, body.missing]).toEqual(['order_failed', undefined]);
    expect(body.detail).toContain('Where is it?');
  },
);

test('what a shop says in place of a checkout is shown as text that can be seen', async () => {
  const content = `\u001b[31m<b>\u202eNot today</b> ${'😀'.repeat(300)}`;
  shop.hooks.create = () => ({ status: 400, body: { messages: [{ type: 'error', code: 'no', content }] } });
  const { detail } = (await buy()).body;
  expect(detail).toMatch(/^The shop did not take the order: \[31mNot today 😀+… Nothing was charged\.$/u);
});

describe('a shop that asks for', () => {
  const asksFor = (currency: string, cents: number) => {
    shop.hooks.update = (session) => ready(Object.assign(session, { currency, totals: totalsOf(cents) }));
  };

  test('more than there is in the world does not make sense', async () => {
    asksFor('USD', Number.MAX_SAFE_INTEGER);
    expect((await buy()).body.code).toBe('merchant_unsupported');
  });

  test.each([
    ['JPY', 300_000, 300_000],
    ['KWD', 99_999, 99.999],
    ['GBP', 9_999, 99.99],
  ])('too many %s is told how many they are', async (currency, minor, total) => {
    asksFor(currency, minor);
    expect((await buy()).body).toMatchObject({ code: 'price_changed', total, currency });
  });
});
