import { parseGwei } from 'viem';
import { expect, it } from 'vitest';
import { chainIds } from '../money/catalogue.ts';
import { FeesAboveCeiling, keepBelow, usualCeiling } from './gas-fee-ceiling.ts';

const ceiling = { maxFee: 100n, priorityFee: 10n };

it('leaves room for the price to double', () => {
  expect(keepBelow(ceiling, { chain: 'ETH', baseFee: 20n, tip: 3n })).toEqual({ maxFee: 43n, priorityFee: 3n });
});

it('cuts a tip that somebody has invented, and offers no more than the ceiling', () => {
  expect(keepBelow(ceiling, { chain: 'ETH', baseFee: 80n, tip: 10n ** 30n })).toEqual({
    maxFee: 100n,
    priorityFee: 10n,
  });
});

it('waits when the block itself costs more, and names the setting', () => {
  const ask = () => keepBelow(ceiling, { chain: 'ETH', baseFee: 91n, tip: 10n });
  expect(ask).toThrow(FeesAboveCeiling);
  expect(ask).toThrow('FEE_CEILING_GWEI');
  expect(keepBelow(ceiling, { chain: 'ETH', baseFee: 90n, tip: 10n }).maxFee).toBe(100n);
});

it.each(chainIds)('has a ceiling for %s, in which the tip is a small part', (chain) => {
  const { maxFee, priorityFee } = usualCeiling(chain);
  expect(maxFee).toBeGreaterThanOrEqual(parseGwei('50'));
  expect(priorityFee * 5n).toBeLessThanOrEqual(maxFee);
});
