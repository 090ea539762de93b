import { afterEach, describe, expect, test } from 'vitest';
import { dailyCaps } from '../../../../src/kernel/daily-caps/count-today.ts';
import { useOrders } from '../../../support/orders.ts';
import { complete, describeSession, refuse, startUcpMerchant, totalsOf } from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop);
const { service, buy, balance, owedToShop, expectSound, letExpire, untilDecided } = world;

afterEach(expectSound);

/** What a purchase did to the buyer and to the shop, in cents. */
async function moved<Result>(work: () => Promise<Result>) {
  const before = [Number(await balance()), await owedToShop()] as const;
  const result = await work();
  const cents = (value: number) => Math.round(value * 100);
  return { result, paid: cents(before[0] - Number(await balance())), got: (await owedToShop()) - before[1] };
}

/** Begins a purchase and waits for nothing: the order as soon as it is there. */
async function begin(): Promise<string> {
  void buy().catch(() => undefined);
  const { rows } = await until('an order', async () => {
    const found = await world.db.query<{ id: string }>('SELECT id FROM orders WHERE finished_at IS NULL');
    return found.rowCount === 1 && found;
  });
  return rows[0]?.id ?? '';
}

const isAsked = () =>
  until('the shop to be asked', async () => shop.calls.some(({ path }) => path.endsWith('/complete')));

describe('a shop that refuses', () => {
  test.each([
    ['out_of_stock', 'sold_out'],
    ['address_undeliverable', 'address_refused'],
    ['payment_failed', 'order_failed'],
  ])('with %s: all the money is back', async (message, code) => {
    shop.hooks.complete = (session) => refuse(session, message, 'Sorry.');
    const { result, paid, got } = await moved(() => buy());
    expect([result.status, result.body.code, paid, got]).toEqual([409, code, 0, 0]);
    expect(await world.orderOf(result.body.orderId)).toMatchObject({
      status: 'failed',
      error: 'The shop says: "Sorry."',
    });
  });

  test('after it has redeemed: only once it has cancelled the checkout', async () => {
    shop.hooks.complete = async (session, call) => {
      expect((await shop.redeem(session, call)).status).toBe(200);
      return refuse(session, 'payment_failed', 'Our printer is on fire.');
    };
    const { result, paid, got } = await moved(() => buy());
    expect([result.status, paid, got]).toEqual([409, 0, 0]);
    expect(shop.calls.at(-1)?.path).toMatch(/\/cancel$/);
  });

  test('by its protocol: nothing is lost', async () => {
    shop.hooks.complete = () => ({ status: 401, body: { code: 'signature_invalid', content: 'Who are you?' } });
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, paid]).toEqual([409, 'order_failed', 0]);
    expect(result.body.detail).toContain('Who are you?');
  });

  test('what was refused may be tried again at once, to the same address', async () => {
    const address = { shippingAddress: 'Ada, 77 Again St, 94105 San Francisco, US' };
    shop.hooks.complete = (session) => refuse(session, 'payment_failed', 'Not now.');
    expect((await buy(address)).status).toBe(409);
    shop.hooks = {};
    expect((await buy(address)).status).toBe(200);
  });

  test.each([
    ['sold out', 'out_of_stock', 409, 'sold_out'],
    ['not delivering there', 'address_undeliverable', 409, 'address_refused'],
  ])('before it is paid, %s: no order is there', async (_what, message, status, code) => {
    shop.hooks.update = (session) => {
      refuse(session, message, 'Sorry.');
      session.status = 'incomplete';
      return { status: 200, body: describeSession(session) };
    };
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, result.body.orderId, paid]).toEqual([status, code, undefined, 0]);
  });

  test('needs more of the address, and says what', async () => {
    shop.hooks.update = (session) => {
      session.messages = [
        {
          type: 'error',
          code: 'missing',
          path: '$.fulfillment.methods[0].destinations[0].address_region',
          content: 'State?',
        },
        {
          type: 'error',
          code: 'missing',
          path: '$.fulfillment.methods[0].destinations[0].phone_number',
          content: 'Phone?',
        },
      ];
      return { status: 200, body: describeSession(session) };
    };
    const { status, body } = await buy();
    expect([status, body.code, body.missing]).toEqual([400, 'shipping_address_incomplete', ['region', 'phone']]);
  });
});

describe('a shop whose answer is lost', () => {
  test('is asked what has become of it, and paid once', async () => {
    shop.hooks.complete = async (session, call) => {
      await shop.redeem(session, call);
      complete(session);
      return { status: 500, body: {} };
    };
    const { result, paid, got } = await moved(() => buy());
    expect([result.status, result.body.status, paid, got]).toEqual([200, 'completed', 2436, 2400]);
    expect(shop.calls.filter(({ path }) => path.endsWith('/complete'))).toHaveLength(1);
  });

  test('and that knows of nothing is asked again under the same key', async () => {
    let times = 0;
    shop.hooks.complete = async (session, call) => {
      if (++times === 1) return 'garbage';
      await shop.redeem(session, call);
      return complete(session);
    };
    const { result, paid, got } = await moved(() => buy());
    expect([result.status, times, paid, got]).toEqual([200, 2, 2436, 2400]);
    const asked = shop.calls.filter(({ path }) => path.endsWith('/complete'));
    expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(asked[0]?.body).toEqual(asked[1]?.body);
  });

  test('and that never took it, nor redeems: the money is back when its time is over', async () => {
    shop.hooks.complete = () => ({ status: 503, body: {} });
    const { result, paid, got } = await moved(async () => {
      const id = await begin();
      await isAsked();
      await letExpire(id);
      return untilDecided(id);
    });
    expect([result.status, result.errorCode, paid, got]).toEqual(['failed', 'no_answer', 0, 0]);
  });

  test('and that has redeemed is never guessed about: it is paid, or gives back, when it speaks again', async () => {
    let redeemed = false;
    shop.hooks.complete = async (session, call) => {
      await shop.redeem(session, call);
      redeemed = true;
      return { status: 502, body: {} };
    };
    shop.hooks.look = () => ({ status: 500, body: {} });
    shop.hooks.cancel = () => ({ status: 500, body: {} });
    const { result, paid, got } = await moved(async () => {
      const id = await begin();
      await until('the shop to redeem', async () => redeemed);
      await letExpire(id);
      await until('it to wait for the shop', async () => {
        const { rows } = await world.db.query('SELECT waits_for FROM orders WHERE id = $1', [id]);
        return /whether it has the order/.test(String(rows[0]?.['waitsFor']));
      });
      expect((await world.orderOf(id)).status).toBe('pending');
      shop.hooks.look = (session) => complete(session);
      return untilDecided(id);
    });
    expect([result.status, paid, got]).toEqual(['completed', 2436, 2400]);
  });

  test('that took so long that the money was back cannot redeem any more', async () => {
    let redeem = async (): Promise<unknown> => undefined;
    shop.hooks.complete = (session, call) => {
      redeem = async () => (await shop.redeem(session, call)).body;
      return { status: 503, body: {} };
    };
    const id = await begin();
    await isAsked();
    await letExpire(id);
    await untilDecided(id);
    expect(await redeem()).toMatchObject({ status: 410, code: 'credential_void' });
  });
});

describe('a shop that says something else than was agreed', () => {
  test.each([
    ['more', 9900, 'USD', 2436, 2400],
    ['less', 1000, 'USD', 1015, 1000],
    ['another currency', 2400, 'EUR', 2436, 2400],
    ['nonsense', Number.NaN, 'USD', 2436, 2400],
  ])('%s: gets at most what the buyer agreed to', async (_what, total, currency, expected, due) => {
    shop.hooks.complete = async (session, call) => {
      await shop.redeem(session, call);
      complete(session);
      return { status: 200, body: { ...describeSession(session), currency, totals: totalsOf(total) } };
    };
    const { result, paid, got } = await moved(() => buy());
    expect([result.status, paid, got]).toEqual([200, expected, due]);
    expect(Math.round(result.body.total * 100)).toBe(expected);
  });

  test('totals that do not add up are not believed', async () => {
    shop.hooks.update = (session) => {
      session.status = 'ready_for_complete';
      session.totals = [
        { type: 'subtotal', amount: 100 },
        { type: 'total', amount: 2400 },
      ];
      return { status: 200, body: describeSession(session) };
    };
    const { result, paid } = await moved(() => buy());
    expect([result.status, paid]).toEqual([422, 0]);
  });
});

describe('a shop that wants to see the buyer', () => {
  const continue_url = 'https://shop.example/continue/1';
  test('from the beginning: nothing is taken', async () => {
    shop.hooks.update = (session) => {
      Object.assign(session, { status: 'requires_escalation', continue_url });
      return { status: 200, body: describeSession(session) };
    };
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, result.body.continueUrl, paid]).toEqual([
      409,
      'needs_buyer',
      continue_url,
      0,
    ]);
    expect(await world.orderOf(result.body.orderId)).toMatchObject({
      status: 'needs_buyer',
      continueUrl: continue_url,
    });
  });

  test('so many times a day and no more, for no money is set aside', async () => {
    shop.hooks.update = (session) => {
      Object.assign(session, { status: 'requires_escalation', continue_url });
      return { status: 200, body: describeSession(session) };
    };
    const { rows: accounts } = await world.db.query<{ id: bigint }>('SELECT id FROM accounts');
    for (const { id } of accounts) {
      await world.db.query(
        `INSERT INTO message_counts VALUES ((now() AT TIME ZONE 'UTC')::date, $1, $2)
         ON CONFLICT (day, scope) DO UPDATE SET count = $2`,
        [`handedOverOrders:account:${id}`, dailyCaps.handedOverOrders.most],
      );
    }
    const orders = async () => (await world.db.query('SELECT FROM orders')).rowCount;
    const before = await orders();
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, paid]).toEqual([429, 'daily_cap_reached', 0]);
    expect(await orders()).toBe(before);
    await world.db.query("DELETE FROM message_counts WHERE scope LIKE 'handedOverOrders:%'");
  });

  test('at the end: all the money is back', async () => {
    shop.hooks.complete = (session) => {
      Object.assign(session, { status: 'requires_escalation', continue_url });
      return { status: 200, body: describeSession(session) };
    };
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, result.body.continueUrl, paid]).toEqual([
      409,
      'needs_buyer',
      continue_url,
      0,
    ]);
  });

  test('at a place that is none of the web: it is refused', async () => {
    shop.hooks.complete = (session) => {
      Object.assign(session, { status: 'requires_escalation', continue_url: 'javascript:alert(1)' });
      return { status: 200, body: describeSession(session) };
    };
    const { result, paid } = await moved(() => buy());
    expect([result.status, result.body.code, paid]).toEqual([409, 'order_failed', 0]);
  });
});

describe('what a shop is paid with', () => {
  test('is good once, for exactly this', async () => {
    const answers: unknown[] = [];
    shop.hooks.complete = async (session, call) => {
      const ask = async (changed: Parameters<typeof shop.redeem>[2]) => {
        const { status, body } = await shop.redeem(session, call, changed);
        answers.push([status, body['code'] ?? body['status'], body['mismatched']]);
      };
      await ask({ amount: 2401 });
      await ask({ currency: 'EUR' });
      await ask({ checkout_id: 'chk_other' });
      await ask({ token: 'pwc_guessed' });
      await ask({});
      await ask({});
      await ask({ key: 'another' });
      return complete(session);
    };
    const { paid, got } = await moved(() => buy());
    expect(answers).toEqual([
      [409, 'credential_mismatch', ['amount']],
      [409, 'credential_mismatch', ['currency']],
      [409, 'credential_mismatch', ['checkout_id']],
      [404, 'credential_unknown', undefined],
      [200, 'redeemed', undefined],
      [200, 'redeemed', undefined],
      [409, 'credential_redeemed', undefined],
    ]);
    expect([paid, got]).toEqual([2436, 2400]);
  });

  test('is not for strangers: unsigned, signed by another key, or with the key of another account', async () => {
    const answers: unknown[] = [];
    shop.hooks.complete = async (session, call) => {
      const [instrument] = (call.body['payment'] as { instruments: { credential: { token: string } }[] }).instruments;
      const body = { token: instrument?.credential.token, checkout_id: session.id, amount: 2400, currency: 'USD' };
      const path = '/shopping/credentials/redeem';
      const unsigned = await service.client.post(path, body);
      const agent = { 'ucp-agent': `profile="${shop.origin}/.well-known/ucp"` };
      const forged = await service.client.request('POST', path, {
        body,
        headers: { ...agent, 'signature-input': 'sig1=("@method");created=1;keyid="x"', signature: 'sig1=:AAAA:' },
      });
      const stranger = await service.client.post(path, body, world.buyer.key);
      answers.push(...[unsigned, forged, stranger].map(({ status, body: { code } }) => [status, code]));
      return refuse(session, 'payment_failed', 'It did not work.');
    };
    await buy();
    expect(answers).toEqual([
      [401, 'signature_invalid'],
      [401, 'signature_invalid'],
      [404, 'credential_unknown'],
    ]);
  });
});

test('a buyer who is frozen meanwhile: the shop that has the order is paid', async () => {
  const { key, handle } = await world.fundedBuyer('100');
  shop.hooks.complete = async (session, call) => {
    await shop.redeem(session, call);
    await world.db.query('UPDATE accounts SET frozen_at = now() WHERE handle = $1', [handle]);
    return complete(session);
  };
  const owed = await owedToShop();
  expect((await buy({}, { key })).status).toBe(200);
  expect((await owedToShop()) - owed).toBe(2400);
});
