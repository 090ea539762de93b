import { randomUUID } from 'node:crypto';
import { beforeAll, expect } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Reply } from './client.ts';
import { type StartOptions, useService } from './service.ts';
import type { UcpMerchant } from './ucp-merchant.ts';
import { until } from './until.ts';

export const home = 'Ada Lovelace, 1 Main St, 94105 San Francisco, US';

/** A service whose users buy at one shop. It waits for the shop as long as can be, unless it is said otherwise. */
export function useOrders(shop: UcpMerchant, options: StartOptions = {}) {
  const service = useService({
    ...options,
    env: { ALLOW_PRIVATE_HOSTS: shop.website, ...options.env },
    settings: { ...options.settings, orders: { waitSeconds: 25, ...options.settings?.orders } },
  });
  shop.connect(() => service.url);
  const { db } = service.database;
  let buyer: { readonly key: string; readonly handle: string };

  beforeAll(async () => {
    buyer = await fundedBuyer('1000');
  });

  async function fundedBuyer(amount: string) {
    const account = await service.client.register();
    const funded = await service.client.post('/sandbox/fund', { amount: Number(amount) }, account.key);
    expect(funded.status).toBe(200);
    return account;
  }

  /** Each to an address of its own, unless it is said otherwise, so that none looks like another. */
  function buy(changed: Record<string, unknown> = {}, { key = buyer.key, idempotencyKey = '' } = {}): Promise<Reply> {
    return service.client.request('POST', '/shopping/buy', {
      key,
      headers: idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey },
      body: {
        website: shop.website,
        productTitle: 'Blue Kettle',
        productBrand: 'Hob',
        amount: 24,
        paymentMethod: 'usdc',
        shippingAddress: `Ada Lovelace, ${randomUUID()} Street 1, 94105 San Francisco, US`,
        ...changed,
      },
    });
  }

  async function balance(key = buyer.key): Promise<string> {
    return (await service.client.get('/circle/balance', key)).body.USDC;
  }

  async function orderOf(orderId: string, key = buyer.key) {
    return (await service.client.get(`/shopping/orders/${orderId}`, key)).body;
  }

  /** What stands under the shop's name, in cents. */
  async function owedToShop(): Promise<number> {
    const { rows } = await db.query<{ owed: bigint }>(
      `SELECT coalesce(sum(l.balance), 0) AS owed FROM claimants c JOIN ledger.accounts l
         ON l.id >= c.id << 14 AND l.id < (c.id + 1) << 14 WHERE c.name = $1`,
      [shop.website],
    );
    return Number(rows[0]?.owed) / 10_000;
  }

  async function inTransit(): Promise<bigint | undefined> {
    const { rows } = await db.query<{ balance: bigint }>(
      `SELECT coalesce(sum(balance), 0) AS balance FROM ledger.accounts
        WHERE ledger.kind_of(id) = (SELECT code FROM ledger.kinds WHERE name = 'orders_in_transit')`,
    );
    return rows[0]?.balance;
  }

  async function openOrders(): Promise<bigint | undefined> {
    const { rows } = await db.query<{ taken: bigint }>(
      'SELECT coalesce(sum(amount + fee), 0) AS taken FROM orders WHERE finished_at IS NULL',
    );
    return rows[0]?.taken;
  }

  async function expectSound(): Promise<void> {
    expect((await verifyLedger(db)).problems).toEqual([]);
    expect(await inTransit()).toBe(await openOrders());
  }

  /** Its shop had time enough: whatever is still unknown is decided without it. */
  async function letExpire(orderId: string): Promise<void> {
    await db.query('UPDATE orders SET expires_at = now() WHERE id = $1', [orderId]);
  }

  async function untilDecided(orderId: string, key = buyer.key) {
    await until('the order to be decided', async () => (await orderOf(orderId, key)).status !== 'pending');
    return orderOf(orderId, key);
  }

  return {
    service,
    db,
    buy,
    balance,
    orderOf,
    owedToShop,
    inTransit,
    expectSound,
    letExpire,
    untilDecided,
    fundedBuyer,
    get buyer() {
      return buyer;
    },
  };
}
