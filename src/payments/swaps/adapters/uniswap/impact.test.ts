import { expect, test } from 'vitest';
import { impactOf, outAtSpot } from './impact.ts';
import type { Hop } from './paths.ts';

const [low, high] = [
  '0x0000000000000000000000000000000000000001',
  '0x0000000000000000000000000000000000000002',
] as const;
const pool = '0x00000000000000000000000000000000000000aa';

/** Four of the second token for one of the first. */
const prices = new Map([[pool, 2n * 2n ** 96n] as const]);

const hop = (change: Partial<Hop>): Hop => ({ pool, fee: 0, from: low, to: high, ...change });

test('the price counts in both directions, and the fee in each pool', () => {
  expect(outAtSpot([hop({})], 1_000n, prices)).toBe(4_000n);
  expect(outAtSpot([hop({ from: high, to: low })], 1_000n, prices)).toBe(250n);
  expect(outAtSpot([hop({ fee: 3_000 })], 1_000n, prices)).toBe(3_988n);
  expect(outAtSpot([hop({ fee: 500_000 }), hop({ from: high, to: low })], 1_000n, prices)).toBe(500n);
});

test('it rounds down in each pool, as they do', () => {
  expect(outAtSpot([hop({ from: high, to: low }), hop({})], 7n, prices)).toBe(4n);
});

test('without a price there is nothing to compare with', () => {
  expect(outAtSpot([hop({ pool: low })], 1_000n, prices)).toBeUndefined();
  expect(outAtSpot([hop({})], 1_000n, new Map([[pool, 0n]]))).toBeUndefined();
});

test('impact is what is missing, in millionths, and never below zero', () => {
  expect(impactOf(950n, 1_000n)).toBe(50_000n);
  expect(impactOf(1_001n, 1_000n)).toBe(0n);
  expect(impactOf(0n, 0n)).toBe(0n);
});
