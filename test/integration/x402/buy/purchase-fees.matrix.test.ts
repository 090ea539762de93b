import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { feeAfter } from '../../../../src/x402/buy/fee.ts';
import { giveBackLapsed, giveBackUnshown } from '../../../../src/x402/buy/give-back.ts';
import { openPurchase } from '../../../../src/x402/buy/open-purchase.ts';
import { isMatrix } from '../../../support/matrix.ts';
import { usePurchaseWorld } from '../../../support/purchases.ts';
import {
  type BroughtPayment,
  type Facilitator,
  openFacilitator,
  startSeller,
  termsOf,
} from '../../../support/seller.ts';

const seller = await startSeller();
const world = usePurchaseWorld(seller);
const { chains, database } = world.deposits;
const { db } = database;

const usdc = (atomic: bigint) => amountOf('USDC', atomic);
const dueOn = (paid: bigint) => feeAfter(usdc(paid), { sent: 0n, charged: 0n }).atomic;
const earned = async () => (await houseBalance(db, 'fees', 'USDC', 'MATIC')).atomic;

/** The seller gets every payment and submits none: the tests do. */
const payments = new Map<string, BroughtPayment>();
let facilitator: Facilitator;
beforeAll(async () => {
  facilitator = await openFacilitator(database);
  const { address } = await houseWallet(db, 'purchases', 'MATIC');
  await chains.faucet.mint({ id: 'float', chain: 'MATIC', asset: 'USDC', to: address, atomic: 10n ** 12n });
  await world.read();
  seller.answer = ({ payment }, response) => {
    if (payment !== undefined) payments.set(payment.authorization.nonce, payment);
    response.end('goods');
  };
});

const start = 1_000_000_000n;

/** Somebody with 1,000 USDC who buys, and what becomes of the purchases. */
async function newBuyer() {
  const user = await world.newRich(start);
  const caller = await world.callerOf(user);
  const parts = () => world.parts({ float: usdc(start) });
  return {
    /** Held: nobody has signed it yet. */
    async open(atomic: bigint): Promise<string> {
      const [accepted = {}] = termsOf(seller, { amount: String(atomic) }).accepts;
      const id = await openPurchase(parts(), {
        caller,
        idempotency: undefined,
        guard: undefined,
        request: { method: 'GET', url: seller.url, headers: {} },
        ip: '127.0.0.1',
        maximum: usdc(start),
        offer: { version: 2, price: usdc(atomic), payTo: seller.payTo, seconds: 300, terms: { accepted } },
      });
      return id as string;
    },
    show: (id: string) => world.advance(id),
    async settle(id: string): Promise<void> {
      const payment = payments.get((await world.look(id)).nonce);
      if (payment === undefined) throw new Error(`${id} was not shown to the seller`);
      await facilitator.submit(payment);
      await world.read();
      await world.advance(id);
      expect(await world.look(id)).toMatchObject({ status: 'paid' });
    },
    /** As the saga does when the time for it is over. */
    async giveBack(id: string): Promise<void> {
      const purchase = await world.look(id);
      if (purchase.status === 'held') await giveBackUnshown(parts(), purchase, 'It could not be paid in time.');
      else await giveBackLapsed(parts(), purchase);
      expect(await world.look(id)).toMatchObject({ status: 'returned' });
    },
    /** What has left the balance. */
    spent: async () => start - (await world.balance(user)),
    user,
  };
}

test('what a seller never took costs no fee of what was paid beside it', async () => {
  const before = await earned();
  const buyer = await newBuyer();
  const untaken = await buyer.open(10_000_000n);
  const [paid, pending] = [await buyer.open(9_000_000n), await buyer.open(1_000_000n)];
  expect(await buyer.spent()).toBe(20_149_000n);
  for (const id of [untaken, paid]) await buyer.show(id);
  await buyer.settle(paid);
  expect((await earned()) - before).toBe(134_000n);
  await buyer.giveBack(untaken);
  expect(await buyer.spent()).toBe(10_000_000n);
  expect(await earned()).toBe(before);
  expect(await world.look(paid)).toMatchObject({ fee: usdc(134_000n), feeReturned: usdc(134_000n) });
  expect(await world.look(pending)).toMatchObject({ fee: usdc(15_000n), feeReturned: usdc(15_000n) });
  expect(await world.reconciled()).toEqual([]);
  expect(await world.differences()).toEqual([]);
});

test('a fee that the operator has paid out comes back all the same', async () => {
  const buyer = await newBuyer();
  const untaken = await buyer.open(10_000_000n);
  const paid = await buyer.open(100_000_000n);
  await buyer.show(paid);
  await buyer.settle(paid);
  const { ledger } = world.deposits;
  const all = await earned();
  const { outcome } = await ledger.post({
    type: 'paid_out',
    amount: usdc(all),
    entries: [
      { account: houseAccount('fees', 'USDC'), atomic: -all },
      { account: houseAccount('surplus', 'USDC'), atomic: all },
    ],
  });
  expect(outcome).toBe('posted');
  await buyer.giveBack(untaken);
  expect(await buyer.spent()).toBe(100_000_000n + dueOn(100_000_000n));
  expect((await houseBalance(db, 'equity', 'USDC', 'MATIC')).atomic).toBe(-149_000n);
  expect(await world.reconciled()).toEqual([]);
  expect(await world.differences()).toEqual([]);
});

test('returns at the moment of other payments and returns take nobody’s money', async () => {
  const before = await earned();
  const buyer = await newBuyer();
  const ids: string[] = [];
  for (let count = 0; count < 8; count++) ids.push(await buyer.open(7_000_000n));
  for (const id of ids) await buyer.show(id);
  const [paid, back] = [ids.filter((_, index) => index % 2 === 1), ids.filter((_, index) => index % 2 === 0)];
  const nonces = await Promise.all(paid.map(async (id) => (await world.look(id)).nonce));
  await facilitator.submit(...nonces.map((nonce) => payments.get(nonce) as BroughtPayment));
  await world.read();
  await Promise.all([
    ...paid.map((id) => world.advance(id)),
    ...back.map((id) => buyer.giveBack(id)),
    buyer.open(5_000_000n).then((id) => buyer.giveBack(id)),
  ]);
  expect(await buyer.spent()).toBe(28_000_000n + dueOn(28_000_000n));
  expect((await earned()) - before).toBe(dueOn(28_000_000n));
  expect(await world.reconciled()).toEqual([]);
});

const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ open: fc.oneof(fc.bigInt(1n, 100_000n), fc.bigInt(1n, 20_000_000n)) }) },
  { weight: 1, arbitrary: fc.record({ show: fc.nat(100) }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat(100) }) },
  { weight: 2, arbitrary: fc.record({ giveBack: fc.nat(100) }) },
);

test('in whatever order and together, the fees that are kept are those that are due on what was paid', {
  tags: ['longer'],
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 8 }),
      async (rounds) => {
        const before = await earned();
        const buyer = await newBuyer();
        const state = new Map<string, 'held' | 'shown' | 'paid'>();
        const prices = new Map<string, bigint>();
        const take = (which: number, ...among: string[]) => {
          const ids = [...state.keys()].filter((id) => among.includes(state.get(id) ?? ''));
          const id = ids[which % ids.length];
          if (id !== undefined) state.delete(id);
          return id;
        };
        const begin = (one: (typeof rounds)[number][number]): Promise<void>[] => {
          if ('open' in one) {
            return [
              buyer.open(one.open).then((id) => {
                state.set(id, 'held');
                prices.set(id, one.open);
              }),
            ];
          }
          const id =
            'show' in one
              ? take(one.show, 'held')
              : 'settle' in one
                ? take(one.settle, 'held', 'shown')
                : take(one.giveBack, 'held', 'shown');
          if (id === undefined) return [];
          if ('giveBack' in one) return [buyer.giveBack(id).then(() => void prices.delete(id))];
          if ('show' in one) return [buyer.show(id).then(() => void state.set(id, 'shown'))];
          return [
            buyer
              .show(id)
              .then(() => buyer.settle(id))
              .then(() => void state.set(id, 'paid')),
          ];
        };
        for (const round of [...rounds, []]) {
          // At last everything that is open comes back.
          const last =
            round.length > 0 ? [] : [...state].filter(([, is]) => is !== 'paid').map(() => ({ giveBack: 0 }));
          await Promise.all([...round, ...last].flatMap(begin));
          const out = [...prices.values()].reduce((sum, price) => sum + price, 0n);
          expect(await buyer.spent()).toBe(out + dueOn(out));
          expect(await world.reconciled()).toEqual([]);
        }
        const paid = [...prices.values()].reduce((sum, price) => sum + price, 0n);
        expect((await earned()) - before).toBe(dueOn(paid));
        expect(await world.differences()).toEqual([]);
      },
    ),
    { numRuns: isMatrix ? 8 : 2, seed: 25, endOnFailure: true },
  );
});
