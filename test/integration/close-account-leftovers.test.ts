import { describe, expect, test } from 'vitest';
import { eraseShippedAddresses } from '../../src/orders/orders-of-closed.ts';
import type { TestAccount } from '../support/client.ts';
import { useService } from '../support/service.ts';

const service = useService();
const db = () => service.database.db;

const close = ({ key, password }: TestAccount, more = {}) =>
  service.client.post('/account/close', { password, ...more }, key);
const idOf = async ({ handle }: TestAccount) =>
  (await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle])).rows[0]?.id;

describe('the address of an order', () => {
  const home = { name: 'Ada Lovelace', street: '12 St James Square', city: 'London', country: 'GB' };
  const erased = { name: 'Erased', street: 'Erased', city: 'Erased', country: 'GB' };
  let number = 0;

  async function order(buyer: TestAccount, seller: TestAccount | undefined, age = '1 day'): Promise<string> {
    const id = `ord_left${number++}`;
    await db().query(
      `INSERT INTO orders (id, account_id, seller_id, domain, channel, checkout, product_title, product_brand, product_url, item_id,
           shipping_address, likeness, asset, amount, fee, charged, charged_fee, transfer_id, ask_key, cancel_key, expires_at,
           status, finished_at)
       VALUES ($1, $2, $3, 'shop.example', 'webhook', '{}', 'Mug', 'Mugs', 'https://shop.example/mug', 'mug', $4,
           sha256('mug'), 'USDC', 5, 0, 5, 0, $1, gen_random_uuid(), gen_random_uuid(), now(), 'completed',
           now() - $5::interval)`,
      [id, await idOf(buyer), seller === undefined ? null : await idOf(seller), home, age],
    );
    return id;
  }
  const addressOf = async (id: string) =>
    (await db().query('SELECT shipping_address AS a FROM orders WHERE id = $1', [id])).rows[0]?.['a'];

  test('stays while a shop with an account still has to ship, and goes when it has', async () => {
    const [buyer, seller] = [await service.client.register(), await service.client.register()];
    const [waiting, shipped, refunded, old, none] = [
      await order(buyer, seller),
      await order(buyer, seller),
      await order(buyer, seller),
      await order(buyer, seller, '31 days'),
      await order(buyer, undefined),
    ];
    expect((await close(buyer)).status).toBe(200);
    for (const id of [waiting, shipped, refunded]) expect([id, await addressOf(id)]).toEqual([id, home]);
    for (const id of [old, none]) expect([id, await addressOf(id)]).toEqual([id, erased]);
    const { body: sale } = await service.client.get(`/shopping/sales/${waiting}`, seller.key);
    expect(sale.shippingAddress).toMatchObject(home);

    await service.client.post(`/shopping/sales/${shipped}/fulfil`, {}, seller.key);
    await db().query("INSERT INTO order_refunds (id, order_id, atomic, transfer_id) VALUES ('rfd_left', $1, 5, 'x')", [
      refunded,
    ]);
    await eraseShippedAddresses(db());
    for (const id of [shipped, refunded]) expect([id, await addressOf(id)]).toEqual([id, erased]);
    expect(await addressOf(waiting)).toEqual(home);
  });

  test('of an account that is open stays', async () => {
    const id = await order(await service.client.register(), undefined, '90 days');
    await eraseShippedAddresses(db());
    expect(await addressOf(id)).toEqual(home);
  });
});
