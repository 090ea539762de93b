import { expect, test } from 'vitest';
import { chains } from '../../../../money/catalogue.ts';
import { encodePath, listPaths } from './paths.ts';

const { USDC, ETH, MATIC, DAI } = chains.MATIC.tokens;

test('every fee tier directly, and every two of them over each other token', () => {
  const paths = listPaths(USDC, ETH, [USDC, ETH, MATIC, DAI]);
  expect(paths).toHaveLength(4 + 2 * 4 * 4);
  expect(new Set(paths.map(encodePath)).size).toBe(paths.length);
  for (const path of paths) {
    expect(path[0]?.from).toBe(USDC);
    expect(path.at(-1)?.to).toBe(ETH);
  }
});

test('a pool has one address, whichever way it is gone through', () => {
  const [there] = listPaths(USDC, ETH, []);
  const [back] = listPaths(ETH, USDC, []);
  expect(there?.[0]?.pool).toBe(back?.[0]?.pool);
});

test('a pool stands where it stands on the real chain', () => {
  // USDC/WETH at 0.05 %, as anybody can look it up.
  const path = listPaths(USDC, ETH, []).find(([hop]) => hop?.fee === 500);
  expect(path?.[0]?.pool.toLowerCase()).toBe('0xa4d8c89f0c20efbe54cba9e7e7a7e509056228d9');
});
