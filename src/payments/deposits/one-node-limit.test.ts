import { expect, test } from 'vitest';
import { oneNodeLimit, worthAtMost } from './one-node-limit.ts';

const whole = 10n ** 18n;

test.each([
  ['USDC', 1_000_000_000n, 1_000_000_000n],
  ['EURC', 1n, 1n],
  ['DAI', 1_000n * whole, 1_000_000_000n],
  ['DAI', 1n, 1n],
  ['ETH', whole / 10n, 1_000_000_000n],
  ['ETH', whole / 10n + 1n, 1_000_000_001n],
  ['MATIC', 333n * whole, 999_000_000n],
] as const)('%s: %s atomic units count as %s', (asset, atomic, worth) => {
  expect(worthAtMost({ asset, atomic })).toBe(worth);
});

test('the hourly limit is twice the limit per transfer', () => {
  expect(oneNodeLimit(1_000)).toEqual({ atOnce: 1_000_000_000n, perHour: 2_000_000_000n });
  expect(oneNodeLimit(0)).toEqual({ atOnce: 0n, perHour: 0n });
});
