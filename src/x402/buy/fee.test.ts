import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf } from '../../money/amount.ts';
import { type Charge, feeAfter, freeWithinDay, recalculateFees } from './fee.ts';

const usdc = (atomic: bigint) => amountOf('USDC', atomic);
const fee = (price: bigint, sent = 0n, charged = 0n) => feeAfter(usdc(price), { sent, charged }).atomic;

test('the free amount costs nothing, and the rest costs as much as a withdrawal', () => {
  expect(fee(freeWithinDay)).toBe(0n);
  expect(fee(200_000_000n)).toBe(2_831_000n);
  expect(fee(100_000_000n, freeWithinDay)).toBe(1_490_000n);
});

test('splitting payments does not change the fee of a day', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt(1n, 50_000_000n), { minLength: 1, maxLength: 50 }), (prices) => {
      let [sent, charged] = [0n, 0n];
      for (const price of prices) {
        charged += fee(price, sent, charged);
        sent += price;
      }
      expect(charged).toBe(fee(sent));
    }),
  );
});

const hour = 3_600n * 1_000_000n;

/** A model of an account whose purchases are opened and returned at different times. */
function openAccount() {
  const purchases: { id: string; openedAt: bigint; returnedAt?: bigint; price: bigint; kept: bigint }[] = [];
  let now = 0n;
  const charges = (since: bigint): Charge[] =>
    purchases
      .map(({ id, openedAt, returnedAt, price, kept }) => ({
        id,
        kept,
        at: returnedAt ?? openedAt,
        amount: returnedAt === undefined ? price : 0n,
      }))
      .filter(({ at }) => at > since)
      .sort((one, other) => Number(one.at - other.at));
  return {
    pass: (time: bigint) => {
      now += time;
    },
    open(price: bigint): void {
      now += 1n;
      const before = charges(now - 24n * hour);
      const sent = before.reduce((sum, { amount }) => sum + amount, 0n);
      const charged = before.reduce((sum, { kept }) => sum + kept, 0n);
      purchases.push({ id: `${purchases.length}`, openedAt: now, price, kept: fee(price, sent, charged) });
    },
    /** No seller has more than an hour to take a payment. */
    giveBack(which: number): void {
      const open = purchases.filter(({ openedAt, returnedAt }) => returnedAt === undefined && openedAt > now - hour);
      const chosen = open[which % open.length];
      if (chosen === undefined) return;
      now += 1n;
      chosen.returnedAt = now;
      const givesBack = recalculateFees(charges(chosen.openedAt - 48n * hour), chosen.openedAt - 24n * hour);
      for (const purchase of purchases) purchase.kept -= givesBack.get(purchase.id) ?? 0n;
    },
    purchases,
    paid: () => purchases.reduce((sum, { price, returnedAt }) => (returnedAt === undefined ? sum + price : sum), 0n),
    kept: () => purchases.reduce((sum, { kept }) => sum + kept, 0n),
  };
}

test('a returned purchase gives back what others were charged because of it', () => {
  const account = openAccount();
  account.open(10_000_000n);
  account.open(9_000_000n);
  expect(account.kept()).toBe(134_000n);
  account.giveBack(0);
  expect(account.kept()).toBe(0n);
});

test('returning a purchase does not return an older fee', () => {
  const account = openAccount();
  account.open(freeWithinDay);
  account.pass(23n * hour);
  account.open(100_000_000n);
  account.pass(2n * hour);
  account.open(1_000_000n);
  account.giveBack(2);
  expect(account.kept()).toBe(1_490_000n);
});

/** Includes small amounts, whose fees are rounded up or down. */
const price = fc.oneof(fc.bigInt(1n, 100_000n), fc.bigInt(1n, 50_000_000n));
const open = fc.record({ open: price });
const giveBack = fc.record({ giveBack: fc.nat(100) });

test('a day costs the fee of what was paid, in any order of openings and returns', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(open, giveBack), { minLength: 1, maxLength: 60 }), (events) => {
      const account = openAccount();
      for (const event of events) {
        if ('open' in event) account.open(event.open);
        else account.giveBack(event.giveBack);
        expect(account.kept()).toBe(fee(account.paid()));
        expect(account.purchases.every(({ kept }) => kept >= 0n)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('many days cost what they would have cost without the returned purchases, but for rounding', () => {
  const pass = fc.record({ pass: fc.oneof(fc.bigInt(1n, 60n), fc.bigInt(1n, 30n * 60n)) });
  fc.assert(
    fc.property(fc.array(fc.oneof(open, giveBack, pass), { minLength: 1, maxLength: 60 }), (events) => {
      const account = openAccount();
      let returns = 0n;
      for (const event of events) {
        if ('open' in event) account.open(event.open);
        else if ('pass' in event) account.pass(event.pass * (hour / 60n));
        else {
          account.giveBack(event.giveBack);
          returns += 1n;
        }
      }
      const without = openAccount();
      let now = 0n;
      for (const { openedAt, price: paid } of account.purchases.filter(({ returnedAt }) => returnedAt === undefined)) {
        without.pass(openedAt - now - 1n);
        without.open(paid);
        now = openedAt;
      }
      const difference = account.kept() - without.kept();
      expect(difference <= 2_000n * returns && difference >= -2_000n * returns).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
