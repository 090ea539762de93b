import { Command } from 'commander';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { addOrderCommands } from '../../../../src/shopping/orders/commands.ts';
import { quoteShop } from '../../../../src/shopping/orders/shop-says.ts';
import { useOrders } from '../../../support/orders.ts';
import {
  complete,
  describeSession,
  type MerchantSession,
  refuse,
  startUcpMerchant,
  totalsOf,
} from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop);
const { service, db, buy, balance, owedToShop, expectSound } = world;

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
  expect(detail).toMatch(/^The shop says: "\[31mNot today 😀+…" Nothing was charged\.$/u);
});

describe('why a shop refuses reaches the buyer', () => {
  const ucp = { version: '2026-08-25', status: 'error' };
  const unsold = { type: 'error', code: 'item_unavailable', content: 'Gone.', severity: 'unrecoverable' };
  const forms: readonly [string, number, object, string, string][] = [
    ['of the protocol', 403, { code: 'profile_not_trusted', content: 'Who are you?' }, 'order_failed', 'Who are you?'],
    ['of UCP', 200, { ucp, messages: [unsold] }, 'sold_out', 'Gone.'],
    ['of the protocol, about stock', 409, { code: 'out_of_stock', content: 'None left.' }, 'sold_out', 'None left.'],
    ['of RFC 9457', 422, { title: 'Bad', detail: 'No kettles on Sundays.' }, 'order_failed', 'No kettles on Sundays.'],
    ['of RFC 9457 with a title alone', 400, { title: 'Closed today', status: 400 }, 'order_failed', 'Closed today'],
    ['of WooCommerce', 400, { code: 'x', message: 'We are closed.', data: {} }, 'order_failed', 'We are closed.'],
    ['of others', 400, { error: { message: 'Not this one.' } }, 'order_failed', 'Not this one.'],
    ['of OAuth', 401, { error: 'no', error_description: 'Your token is old.' }, 'order_failed', 'Your token is old.'],
    ['of one word', 400, { error: 'Nonsense' }, 'order_failed', 'Nonsense'],
    ['without words', 418, { code: 'teapot' }, 'order_failed', 'The shop refused the request (418).'],
  ];
  test.each(forms)('in an error %s', async (_form, status, body, code, reason) => {
    const before = await balance();
    shop.hooks.create = () => ({ status, body });
    const early = (await buy()).body;
    const said = reason.startsWith('The shop') ? reason : quoteShop(reason);
    expect([early.code, early.detail]).toEqual([code, `${said} Nothing was charged.`]);
    shop.hooks = { complete: () => ({ status: status === 409 ? 400 : status, body }) };
    const late = (await buy()).body;
    expect([late.code, late.detail]).toEqual([code, `${said} All the money is back in your balance.`]);
    expect(await balance()).toBe(before);
  });

  test('when it is in trouble as well', async () => {
    shop.hooks.create = () => ({ status: 503, body: { code: 'unavailable', content: 'The shop is <b>crowded</b>.' } });
    const { body } = await buy();
    expect([body.code, body.detail]).toEqual([
      'merchant_unreachable',
      expect.stringContaining('The shop says: "The shop is crowded."'),
    ]);
  });

  test.each(['content', 'detail', 'message', 'error_description', 'title'])(
    'as short text that can be seen, in %s',
    async (field) => {
      const text = `\u001b[31m<b>\u202eNot today</b> ${'😀'.repeat(300)}`;
      shop.hooks.create = () => ({ status: 400, body: { [field]: text } });
      const { detail } = (await buy()).body;
      expect(detail).toMatch(/^The shop says: "\[31mNot today 😀+…" Nothing was charged\.$/u);
      expect(Array.from(detail).length).toBeLessThan(260);
    },
  );

  test.each([[{ content: { text: 'x' } }], [{ messages: 'no' }], [{ error: ['x'] }], [[]], ['no']])(
    'and %j says nothing',
    async (body) => {
      shop.hooks.create = () => ({ status: 400, body });
      expect((await buy()).body.detail).toContain('The shop refused the request (400).');
    },
  );
});

describe('a shop that asks for', () => {
  const asksFor = (currency: string, cents: number) => {
    shop.hooks.update = (session, { body: { fulfillment } }) =>
      ready(Object.assign(session, { currency, totals: totalsOf(cents), fulfillment }));
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

describe('a shop that redeems and then wants to see the buyer', () => {
  const continue_url = 'https://shop.example/continue/1';
  const redeemAndAsk = () => {
    shop.hooks.complete = async (session, call) => {
      expect((await shop.redeem(session, call)).status).toBe(200);
      Object.assign(session, { status: 'requires_escalation', continue_url });
      return { status: 200, body: describeSession(session) };
    };
  };

  test('and has an order from that is paid', async () => {
    redeemAndAsk();
    shop.hooks.cancel = (session) => complete(session);
    const owed = await owedToShop();
    expect((await buy()).body).toMatchObject({ status: 'completed', total: 24.36 });
    expect((await owedToShop()) - owed).toBe(2400);
  });

  test('gives the money back by cancelling, and there is nowhere to go on', async () => {
    redeemAndAsk();
    const before = await balance();
    const { body } = await buy();
    expect([body.code, body.continueUrl]).toEqual(['order_failed', undefined]);
    expect(await balance()).toBe(before);
    expect(shop.calls.at(-1)?.path).toMatch(/\/cancel$/);
  });
});

describe('the operator decides while the shop is asked', () => {
  const ledger = createLedger({ db, logger: createLogger('silent') });
  afterAll(() => ledger.stop());
  const paywright = async (...args: string[]) => {
    const program = new Command('paywright').exitOverride();
    addOrderCommands(
      program,
      (work) => work({ db, ledger }),
      () => {},
    );
    await program.parseAsync(['node', 'paywright', 'orders', ...args]);
  };
  const openOrder = async () =>
    (await db.query<{ id: string }>('SELECT id FROM orders WHERE finished_at IS NULL')).rows[0]?.id ?? '';

  test.each(['before it redeems', 'after it has redeemed'])(
    'to pay it, %s: nobody cancels what is paid',
    async (when) => {
      shop.hooks.complete = async (session, call) => {
        if (when === 'after it has redeemed') await shop.redeem(session, call);
        await paywright('capture', await openOrder());
        return refuse(session, 'payment_failed', 'We are not so sure.');
      };
      expect((await buy()).body.status).toBe('completed');
      await until('the saga to rest', async () => (await db.query('SELECT FROM graphile_worker.jobs')).rowCount === 0);
      expect(shop.calls.filter(({ path }) => path.endsWith('/cancel'))).toEqual([]);
    },
  );

  test('to give the money back: what the shop says then is not paid', async () => {
    const [before, owed] = [await balance(), await owedToShop()];
    shop.hooks.complete = async (session) => {
      await paywright('release', await openOrder());
      return complete(session);
    };
    expect((await buy()).body.code).toBe('order_failed');
    expect([await balance(), await owedToShop()]).toEqual([before, owed]);
  });
});

test('whoever gets a domain from another does not get to know who bought there', async () => {
  const [first, second] = [await service.client.register(), await service.client.register()];
  const ask = (method: string, path: string, { key }: { key: string }, body?: unknown) =>
    service.client.request(method, `/shopping${path}`, { key, body });
  const domain = encodeURIComponent(shop.website);
  const prove = async (owner: { key: string }) => {
    const { proof } = (await ask('POST', '/merchants', owner, { website: shop.website })).body;
    shop.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
    expect((await ask('POST', `/merchants/${domain}/verify`, owner)).status).toBe(200);
  };
  const early = (await buy()).body.orderId;
  await prove(first);
  const late = (await buy()).body.orderId;
  expect((await ask('GET', '/sales', first)).body.sales.slice(0, 2)).toMatchObject([
    { orderId: late },
    { orderId: early },
  ]);
  await ask('DELETE', `/merchants/${domain}`, first);
  await prove(second);
  const own = (await buy()).body.orderId;

  expect((await ask('GET', '/sales', second)).body.sales).toMatchObject([{ orderId: own }]);
  for (const id of [early, late]) {
    expect((await ask('GET', `/sales/${id}`, second)).status).toBe(404);
    expect((await ask('POST', `/sales/${id}/fulfil`, second)).status).toBe(404);
    expect((await ask('POST', `/sales/${id}/refund`, second)).status).toBe(404);
    // Whoever has the money can still give it back.
    expect((await ask('POST', `/sales/${id}/refund`, first)).body).toMatchObject({ amount: 24 });
  }
  expect((await ask('GET', `/sales/${own}`, first)).status).toBe(404);
});
