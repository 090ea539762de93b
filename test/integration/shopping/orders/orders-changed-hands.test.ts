// @module-tag thorough
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { enableMerchant } from '../../../../src/shopping/merchants/enable-merchant.ts';
import type { TestAccount } from '../../../support/client.ts';
import { useOrders } from '../../../support/orders.ts';
import {
  complete,
  describeSession,
  refuse,
  startUcpMerchant,
  type UcpMerchant,
} from '../../../support/ucp-merchant.ts';
import { until } from '../../../support/until.ts';

const operatorsSecret = 'a secret of at least thirty-two characters';
// What is owed to a domain is bound to its first account, so each test has a shop of its own.
const shops = await Promise.all(Array.from({ length: 7 }, () => startUcpMerchant()));
const [anyShop] = shops as [UcpMerchant];
const world = useOrders(anyShop, {
  env: {
    ALLOW_PRIVATE_HOSTS: shops.map(({ website }) => website).join(),
    PAYWRIGHT_SECRET: operatorsSecret,
  },
  settings: { orders: { waitSeconds: 1 } },
});
const { service, db, buy, balance, orderOf, expectSound } = world;
for (const shop of shops) shop.connect(() => service.url);
const ledger = createLedger({ db, logger: createLogger('silent') });
const secrets = createSecrets(operatorsSecret);
afterAll(() => ledger.stop());
afterEach(expectSound);

let first: TestAccount;
let second: TestAccount;
beforeAll(async () => {
  [first, second] = [await service.client.register(), await service.client.register()];
});

const takeShop = (): UcpMerchant => {
  const shop = shops.pop();
  if (shop === undefined) throw new Error('there are no more shops');
  return shop;
};

const ask = (method: string, path: string, { key }: TestAccount, body?: unknown) =>
  service.client.request(method, `/shopping${path}`, { key, body });

/** The account has the domain from here on; the answer is what its orders are signed with. */
async function prove(owner: TestAccount, shop: UcpMerchant, ordersUrl?: string): Promise<string> {
  const { proof, ordersSecret } = (await ask('POST', '/merchants', owner, { website: shop.website, ordersUrl })).body;
  shop.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
  expect((await ask('POST', `/merchants/${encodeURIComponent(shop.website)}/verify`, owner)).status).toBe(200);
  return ordersSecret;
}

/** As `paywright merchant enable` does. */
async function enable(shop: UcpMerchant, owner: TestAccount | undefined, ordersUrl?: string) {
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [owner?.handle]);
  return enableMerchant({ db, ledger, secrets }, { domain: shop.website, accountId: rows[0]?.id, ordersUrl });
}

/** An address for orders that answers only what is signed with this secret. */
function listen(shop: UcpMerchant, path: string, secret: () => string) {
  const hook = { says: 'pending', got: 0, forged: 0 };
  shop.files[path] = ({ headers, text }) => {
    try {
      new Webhook(secret()).verify(text, headers as Record<string, string>);
    } catch {
      hook.forged++;
      return { status: 401, body: {} };
    }
    hook.got++;
    return { status: 200, body: { status: hook.says } };
  };
  return hook;
}

const wake = (id: string) => wakeSaga(db, { saga: 'order', id, lane: 'shops' });

/** What a purchase brought each of the two, in whole units. */
async function earned(work: () => Promise<unknown>): Promise<number[]> {
  const all = async () => Promise.all([first, second].map(async ({ key }) => Number(await balance(key))));
  const before = await all();
  await work();
  return (await all()).map((after, index) => after - (before[index] ?? 0));
}

describe('an order that a shop got by webhook', () => {
  const changes: readonly [string, (shop: UcpMerchant) => Promise<unknown>][] = [
    [
      'whose domain its owner gives up and another account proves',
      async (shop) => {
        await ask('DELETE', `/merchants/${encodeURIComponent(shop.website)}`, first);
        await prove(second, shop, `${shop.origin}/second`);
      },
    ],
    ['whose domain the operator moves', (shop) => enable(shop, second, `${shop.origin}/second`)],
  ];
  test.each(changes)('%s stays the first owner’s: signed for it, and paid to it', async (_what, change) => {
    const shop = takeShop();
    const secret = await prove(first, shop, `${shop.origin}/first`);
    const hook = listen(shop, '/first', () => secret);
    const { orderId } = (await buy({ website: shop.website })).body;
    await change(shop);
    hook.says = 'accepted';
    expect(
      await earned(async () => {
        await wake(orderId);
        expect((await world.untilDecided(orderId)).status).toBe('completed');
      }),
    ).toEqual([24, 0]);
    expect(hook.forged).toBe(0);
    expect((await ask('GET', `/sales/${orderId}`, first)).body.orderId).toBe(orderId);
    expect((await ask('GET', `/sales/${orderId}`, second)).status).toBe(404);
    expect((await db.query('SELECT FROM order_secrets')).rowCount).toBe(0);
  });

  test('before its domain had an account goes on with the secret that the operator made', async () => {
    const shop = takeShop();
    const { ordersSecret = '' } = await enable(shop, undefined, `${shop.origin}/operator`);
    const hook = listen(shop, '/operator', () => ordersSecret);
    const { orderId } = (await buy({ website: shop.website })).body;
    await prove(second, shop, `${shop.origin}/second`);
    hook.says = 'accepted';
    expect(
      await earned(async () => {
        await wake(orderId);
        await world.untilDecided(orderId);
      }),
    ).toEqual([0, 24]);
    expect(hook.forged).toBe(0);
  });

  test('is signed with the new secret when the same owner has replaced a lost one', async () => {
    const shop = takeShop();
    let secret = await prove(first, shop, `${shop.origin}/first`);
    const hook = listen(shop, '/first', () => secret);
    const { orderId } = (await buy({ website: shop.website })).body;
    secret = (await ask('POST', '/merchants', first, { website: shop.website })).body.ordersSecret;
    hook.says = 'accepted';
    await wake(orderId);
    expect((await world.untilDecided(orderId)).status).toBe('completed');
  });
});

describe('an order at a checkout', () => {
  test('whose domain moves after it was redeemed is paid to the owner who redeemed', async () => {
    const shop = takeShop();
    await prove(first, shop);
    shop.hooks.complete = async (session, call) => {
      expect((await shop.redeem(session, call)).status).toBe(200);
      session.status = 'complete_in_progress';
      return { status: 200, body: describeSession(session) };
    };
    const { orderId } = (await buy({ website: shop.website })).body;
    await until('the shop to redeem', async () =>
      [...shop.sessions.values()].some(({ status }) => status === 'complete_in_progress'),
    );
    await enable(shop, second);
    shop.hooks.look = (session) => complete(session);
    expect(
      await earned(async () => {
        await wake(orderId);
        await world.untilDecided(orderId);
      }),
    ).toEqual([24, 0]);
  });

  test('whose domain moves before it is redeemed cannot be redeemed by the new owner, and the money is back', async () => {
    const shop = takeShop();
    await prove(first, shop);
    const answers: unknown[] = [];
    shop.hooks.complete = async (session, call) => {
      await enable(shop, second);
      const [instrument] = (call.body['payment'] as { instruments: { credential: { token: string } }[] }).instruments;
      const body = { token: instrument?.credential.token, checkout_id: session.id, amount: 2400, currency: 'USD' };
      const withKey = await ask('POST', '/credentials/redeem', second, body);
      answers.push(withKey.body.code, (await shop.redeem(session, call)).body['code']);
      return refuse(session, 'payment_failed', 'The payment did not pass.');
    };
    const before = await balance();
    const { orderId } = (await buy({ website: shop.website })).body;
    await until('the order to be decided', async () => (await orderOf(orderId)).status === 'failed');
    expect(answers).toEqual(['credential_unknown', 'credential_unknown']);
    expect(await balance()).toBe(before);
  });

  test('whose domain moves while it is prepared is not opened', async () => {
    const shop = takeShop();
    await prove(first, shop);
    shop.hooks.update = async (session, { body: asked }) => {
      await enable(shop, second);
      session.fulfillment = asked['fulfillment'];
      session.status = 'ready_for_complete';
      return { status: 200, body: describeSession(session) };
    };
    const before = await balance();
    const { status, body } = await buy({ website: shop.website });
    expect([status, body.code, await balance()]).toEqual([409, 'merchant_changed', before]);
  });
});
