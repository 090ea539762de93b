import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf } from '../money/amount.ts';
import { feeAfter, freeWithinDay } from './fee.ts';

const usdc = (atomic: bigint) => amountOf('USDC', atomic);
const fee = (price: bigint, sent = 0n, charged = 0n) => feeAfter(usdc(price), { sent, charged }).atomic;

test('what calls cost is free, and what is above that costs as much as a withdrawal', () => {
  expect(fee(freeWithinDay)).toBe(0n);
  expect(fee(200_000_000n)).toBe(2_831_000n);
  expect(fee(100_000_000n, freeWithinDay)).toBe(1_490_000n);
});

test('however it is divided, a day costs the same', () => {
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
