import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { getAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import {
  assetIds,
  assets,
  type ChainFacts,
  chainIds,
  chains,
  coins,
  currencies,
  holdings,
  isHolding,
  untradedCoins,
} from './catalogue.ts';

const codesOf = (table: Readonly<Record<string, { readonly code: number }>>) =>
  Object.fromEntries(Object.entries(table).map(([id, { code }]) => [id, code]));

function expectUnique(values: readonly unknown[]): void {
  expect(new Set(values).size).toBe(values.length);
}

describe('codes', () => {
  test('are in account numbers, so those that were given once stay', () => {
    expect(codesOf(assets)).toMatchObject({ USDC: 1, EURC: 2, DAI: 3, ETH: 4, MATIC: 5, AVAX: 6 });
    expect(codesOf(chains)).toMatchObject({ MATIC: 1, ETH: 2, ARB: 3, BASE: 4, AVAX: 5, OP: 6 });
  });

  test.each([
    ['assets', assets],
    ['chains', chains],
  ])('of %s are different, and fit into the four bits that an account number has for them', (_, table) => {
    const codes = Object.values(codesOf(table));
    expectUnique(codes);
    for (const code of codes) expect(Number.isInteger(code) && code >= 1 && code <= 15, `code ${code}`).toBe(true);
  });
});

test('no two chains share a number or a name, however they are called', () => {
  for (const field of ['name', 'chainId', 'domain', 'x402', 'explorer'] as const) {
    expectUnique(chainIds.map((id) => chains[id][field]));
  }
});

test.each(chainIds)('every token on %s has an address with its checksum, and the native coin is one of them', (id) => {
  const { tokens, native }: ChainFacts = chains[id];
  for (const address of Object.values(tokens)) expect(getAddress(address)).toBe(address);
  expectUnique(Object.values(tokens));
  expect(tokens[native]).toBeDefined();
});

test('an asset is a currency, a coin at the market of the sandbox, or pays for gas at a price that is set', () => {
  expect(holdings.toSorted()).toEqual([...currencies, ...coins].toSorted());
  for (const coin of coins) {
    // Responses and descriptions say that coins have 18 decimals.
    expect(assets[coin].decimals).toBe(18);
    expect(assets[coin].sandbox.pools.length).toBeGreaterThan(0);
  }
  expect(assetIds.filter((asset) => !isHolding(asset))).toEqual(untradedCoins);
  for (const coin of untradedCoins) expect(assets[coin].gasPrice).toBeGreaterThan(0);
});

/**
 * AVAX and DAI stand for every chain and coin: any other file that named them would need a line for each new one. The
 * on-ramp adapters map each chain to the vendor's name and do not compile without it; DAI has a sandbox contract of its
 * own.
 */
test.each([
  ['AVAX', ['catalogue.ts', 'coinbase-on-ramp.ts', 'moonpay-on-ramp.ts']],
  ['DAI', ['catalogue.ts', 'tokens.ts']],
])('%s is named in the catalogue, and nowhere that could do without', (name, expected) => {
  const files = ['../', '../../sandbox/'].flatMap((folder) => {
    const source = new URL(folder, import.meta.url);
    return readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.includes('/generated/'))
      .filter((file) => new RegExp(`\\b${name}\\b`).test(readFileSync(new URL(file, source), 'utf8')));
  });
  expect(files.map((file) => basename(file)).toSorted()).toEqual(expected);
});
