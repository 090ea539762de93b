import { Command } from 'commander';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { addOrderCommands } from '../../../../src/shopping/orders/commands.ts';
import { useOrders } from '../../../support/orders.ts';
import { complete, type MerchantCall, startUcpMerchant } from '../../../support/ucp-merchant.ts';

const shop = await startUcpMerchant();
const world = useOrders(shop, { settings: { orders: { waitSeconds: 1 } } });
const { service, db, buy, balance, orderOf, owedToShop, letExpire, untilDecided, expectSound } = world;
const ledger = createLedger({ db, logger: createLogger('silent') });
afterAll(() => ledger.stop());
afterEach(expectSound);

const wake = (id: string) => wakeSaga(db, { saga: 'order', id, lane: 'shops' });

/** A shop that says that it has the order, without having asked for the money. */
async function completedUnredeemed() {
  const before = [await balance(), await owedToShop()] as const;
  let redeem = async (_changed?: { key: string }): Promise<Record<string, unknown>> => ({});
  shop.hooks.complete = (session, call: MerchantCall) => {
    redeem = async (changed) => (await shop.redeem(session, call, changed)).body;
    return complete(session);
  };
  const { status, body } = await buy();
  expect([status, body.status]).toEqual([202, 'pending']);
  const { orderId } = body as { orderId: string };
  return {
    orderId,
    redeem: (changed?: { key: string }) => redeem(changed),
    /** In cents: what the buyer has paid, and what the shop has got. */
    moved: async () => [
      Math.round((Number(before[0]) - Number(await balance())) * 100),
      (await owedToShop()) - before[1],
    ],
  };
}

describe('a shop that says completed and has not redeemed', () => {
  test('is not paid: the money is back when its time is over, and it cannot redeem any more', async () => {
    const { orderId, redeem, moved } = await completedUnredeemed();
    await letExpire(orderId);
    await wake(orderId);
    expect(await untilDecided(orderId)).toMatchObject({
      status: 'failed',
      errorCode: 'not_redeemed',
      error: expect.stringContaining('did not redeem'),
    });
    expect(await moved()).toEqual([0, 0]);
    expect(await redeem()).toMatchObject({ status: 410, code: 'credential_void' });
    await expect.poll(() => shop.calls.some(({ path }) => path.endsWith('/cancel'))).toBe(true);
  });

  test('is paid once it redeems in time', async () => {
    const { orderId, redeem, moved } = await completedUnredeemed();
    expect(await redeem()).toMatchObject({ status: 'redeemed' });
    await wake(orderId);
    expect((await untilDecided(orderId)).status).toBe('completed');
    expect(await moved()).toEqual([2436, 2400]);
    // Its answer may have been lost: the same key gets it again, another is refused.
    expect(await redeem()).toMatchObject({ status: 'redeemed' });
    expect(await redeem({ key: 'another' })).toMatchObject({ code: 'credential_redeemed' });
  });

  test('does not keep the buyer from cancelling', async () => {
    const { orderId, redeem, moved } = await completedUnredeemed();
    const cancelled = await service.client.post(`/shopping/orders/${orderId}/cancel`, {}, world.buyer.key);
    expect([cancelled.status, cancelled.body.errorCode]).toEqual([200, 'cancelled']);
    expect(await moved()).toEqual([0, 0]);
    expect(await redeem()).toMatchObject({ status: 410 });
  });

  test('and cannot have the order of a backup that may have lost the redemption: its word counts there', async () => {
    const { orderId, moved } = await completedUnredeemed();
    await db.query('UPDATE orders SET restored_at = now() WHERE id = $1', [orderId]);
    await wake(orderId);
    expect((await untilDecided(orderId)).status).toBe('completed');
    expect(await moved()).toEqual([2436, 2400]);
  });

  test('is paid when the operator says so, and hears of it when it redeems after that', async () => {
    const { orderId, redeem, moved } = await completedUnredeemed();
    const program = new Command('paywright').exitOverride();
    addOrderCommands(
      program,
      (work) => work({ db, ledger }),
      () => {},
    );
    await program.parseAsync(['node', 'paywright', 'orders', 'capture', orderId]);
    expect((await orderOf(orderId)).status).toBe('completed');
    await letExpireCredential(orderId);
    expect(await redeem()).toMatchObject({ status: 'redeemed', order_id: orderId });
    expect(await moved()).toEqual([2436, 2400]);
  });
});

/** Whose time is fixed, so its trigger is asleep meanwhile. */
async function letExpireCredential(orderId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query('UPDATE payment_credentials SET expires_at = now() WHERE order_id = $1', [orderId]);
  });
}

test('an account that sells there is told that nothing may be sent', async () => {
  const seller = await service.client.register();
  const { proof } = (await service.client.post('/shopping/merchants', { website: shop.website }, seller.key)).body;
  shop.files[new URL(proof.url).pathname] = { status: 200, body: '', text: proof.content };
  const domain = encodeURIComponent(shop.website);
  expect((await service.client.post(`/shopping/merchants/${domain}/verify`, {}, seller.key)).status).toBe(200);
  await service.client.post('/webhooks', { url: 'https://hooks.example/', events: ['order.failed'] }, seller.key);
  const { orderId } = await completedUnredeemed();
  await letExpire(orderId);
  await wake(orderId);
  await untilDecided(orderId);
  await expect
    .poll(async () => {
      const { rows } = await db.query<{ body: string }>('SELECT body FROM webhook_deliveries');
      return rows
        .map(({ body }) => JSON.parse(body).data)
        .some(({ role, orderId: id }) => role === 'seller' && id === orderId);
    })
    .toBe(true);
});
