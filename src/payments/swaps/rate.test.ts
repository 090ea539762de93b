import { expect, test } from 'vitest';
import { amountOf } from '../../money/amount.ts';
import { rateOf, slippageOf } from './rate.ts';

test.each([
  ['USDC', 100_000_000n, 'ETH', 33_146_580_149_999_000n, '0.00033146580149999'],
  ['ETH', 10n ** 18n, 'USDC', 2_985_000_001n, '2985.000001'],
  ['MATIC', 3n, 'DAI', 1n, '0.333333333333333333'],
  ['DAI', 10n ** 18n, 'MATIC', 2n * 10n ** 18n, '2'],
] as const)('a rate from %s %s to %s %s is %s', (from, sold, to, paid, rate) => {
  expect(rateOf(amountOf(to, paid), amountOf(from, sold))).toBe(rate);
});

test.each([
  [99n, 100n, '0.01'],
  [100n, 100n, '0'],
  [101n, 100n, '-0.01'],
])('%s instead of %s is a slippage of %s', (paid, expected, slippage) => {
  expect(slippageOf(amountOf('USDC', paid), amountOf('USDC', expected))).toBe(slippage);
});
