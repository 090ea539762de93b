import { expect, test } from 'vitest';
import type { Problem } from '../../../../src/kernel/http/problem.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { openPurchase } from '../../../../src/x402/buy/open-purchase.ts';
import { usePurchaseWorld } from '../../../support/purchases.ts';
import { openFacilitator, sells, startSeller, termsOf } from '../../../support/seller.ts';

const seller = await startSeller();
const world = usePurchaseWorld(seller);

test('a guarded call is not repeated while the seller has not answered the first one', async () => {
  const user = await world.newRich(50_000_000n);
  await world.fillFloat();
  const caller = await world.callerOf(user);
  const [accepted = {}] = termsOf(seller, { amount: '100000' }).accepts;
  const post = { method: 'POST', url: seller.url, headers: {}, body: 'one' } as const;
  const open = (more: { request?: object; guard?: { notDuplicateOf: string | undefined } | undefined } = {}) =>
    openPurchase(world.parts(), {
      caller,
      idempotency: undefined,
      guard: { notDuplicateOf: undefined },
      ip: '127.0.0.1',
      maximum: amountOf('USDC', 5_000_000n),
      offer: {
        version: 2,
        price: amountOf('USDC', 100_000n),
        payTo: seller.payTo,
        seconds: 300,
        terms: { accepted },
      },
      ...more,
      request: { ...post, ...more.request },
    });

  const first = await open();
  const refusal = {
    code: 'possible_duplicate',
    extras: { members: { duplicateOf: { id: first, status: 'pending' } } },
  };
  await expect(open()).rejects.toMatchObject(refusal);
  // A header may be another one in every request, such as a time.
  await expect(open({ request: { headers: { 'x-at': 'now' } } })).rejects.toMatchObject(refusal);
  expect(await open({ request: { body: 'two' } })).toMatch(/^pur_/);
  expect(await open({ request: { url: `${seller.url}?page=2` } })).toMatch(/^pur_/);
  const second = await open({ guard: { notDuplicateOf: first } });
  expect(second).toMatch(/^pur_/);
  await expect(open({ guard: { notDuplicateOf: first } })).rejects.toMatchObject({
    extras: { members: { duplicateOf: { id: second } } },
  });
  expect(await open({ guard: undefined })).toMatch(/^pur_/);

  // Calling again is usual once there is an answer.
  await world.deposits.database.db.query('DELETE FROM purchase_requests');
  expect(await open()).toMatch(/^pur_/);
});

test('a guarded call whose answer is lost is not repeated until the chain shows what became of its payment', async () => {
  const facilitator = await openFacilitator(world.deposits.database);
  sells(seller, termsOf(seller, { amount: '100000' }), async (payment, _asked, response) => {
    await facilitator.submit(payment);
    response.destroy();
  });
  const user = await world.newRich(1_500_000n);
  await world.fillFloat();
  const buy = () => world.buy(user, { method: 'POST', guard: { notDuplicateOf: undefined } });
  const requests = async () => (await world.deposits.database.db.query('SELECT FROM purchase_requests')).rowCount;
  const kept = await requests();
  const first = await buy();
  expect(first).toMatchObject({ code: 'seller_silent' });
  const repeated = await buy();
  expect(repeated).toMatchObject({
    code: 'possible_duplicate',
    extras: { members: { duplicateOf: { status: 'pending' } } },
  });
  const { duplicateOf } = (repeated as Problem).extras.members as { duplicateOf: { id: string } };
  const { id } = duplicateOf;

  await world.read();
  await world.advance(id);
  expect((await world.look(id)).status).toBe('paid');
  expect(await requests()).toBe(kept);
  expect(await buy()).toMatchObject({ code: 'seller_silent' });
});
