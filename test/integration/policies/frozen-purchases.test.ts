import { expect, test } from 'vitest';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { openPurchase } from '../../../src/x402/buy/open-purchase.ts';
import { createBudget, readBudget } from '../../support/budgets.ts';
import { createSpendingConsent } from '../../support/consent.ts';
import { usePurchaseWorld } from '../../support/purchases.ts';
import { startSeller, termsOf } from '../../support/seller.ts';

const seller = await startSeller();
const world = usePurchaseWorld(seller);
const { db } = world.deposits.database;

test('a freeze stops a purchase that the seller has not seen, and returns the money and the authority', async () => {
  const user = await world.newRich(50_000_000n);
  await world.fillFloat();
  const caller = await world.callerOf(user);
  const { consent, budgets, asked } = createSpendingConsent();
  const budget = await createBudget(db, { id: user.id, keyId: caller.keyId }, { most: 20_000_000n });
  budgets.set(user.id, budget);
  const [accepted = {}] = termsOf(seller, { amount: '3000000' }).accepts;
  const id = await openPurchase(world.parts({ consent }), {
    caller,
    idempotency: undefined,
    guard: undefined,
    request: { method: 'GET', url: seller.url, headers: {} },
    ip: '127.0.0.1',
    maximum: amountOf('USDC', 5_000_000n),
    offer: { version: 2, price: amountOf('USDC', 3_000_000n), payTo: seller.payTo, seconds: 300, terms: { accepted } },
  });
  if (id === undefined) throw new Error('nothing was opened');
  expect(asked).toMatchObject([{ operation: 'call', amount: { atomic: 3_000_000n }, chains: ['MATIC'] }]);
  expect(await world.look(id)).toMatchObject({ status: 'held', keyId: caller.keyId });
  expect((await readBudget(db, budget)).spent).toBe(3_000_000n);

  await db.query('INSERT INTO frozen_places (place, account_id) VALUES ($1, $2)', [caller.keyId, user.id]);
  await world.advance(id);

  expect(await world.look(id)).toMatchObject({ status: 'returned', error: 'The key that asked for it was frozen.' });
  expect(await world.balance(user)).toBe(50_000_000n);
  expect((await readBudget(db, budget)).spent).toBe(0n);
  expect((await verifyLedger(db)).problems).toEqual([]);
});
