import { encodeAbiParameters, encodeFunctionResult, type Hex } from 'viem';
import { expect, test } from 'vitest';
import type { Network } from '../../../../chains/network.ts';
import { chains } from '../../../../money/catalogue.ts';
import { multicallAbi } from './ask.ts';
import { askPrices, worthAt } from './prices.ts';

const usdc = chains.MATIC.tokens.USDC;

/** What a pool says of itself. */
interface Told {
  /** USDC for one of the asset, which has 18 decimals. */
  readonly price: number;
  readonly held: bigint;
}

/** A node whose pools, four for each of ETH, MATIC and DAI, tell this. */
function nodeWith(told: readonly (Told | undefined)[]): Network {
  const word = (value: bigint) => encodeAbiParameters([{ type: 'uint256' }], [value]);
  const results = Array.from({ length: 12 }, (_, index) => told[index]).flatMap((pool, index) => {
    const asset = [chains.MATIC.tokens.ETH, chains.MATIC.tokens.MATIC, chains.MATIC.tokens.DAI][
      Math.floor(index / 4)
    ] as Hex;
    const ratio = pool === undefined ? 0 : pool.price / 10 ** 12;
    const root = Math.sqrt(BigInt(asset) < BigInt(usdc) ? ratio : 1 / ratio);
    const slot =
      pool &&
      `0x${[BigInt(Math.round(root * 2 ** 60)) << 36n, 0n, 0n, 0n, 0n, 0n, 1n].map((part) => word(part).slice(2)).join('')}`;
    return [slot, pool && word(pool.held)].map((data) => ({
      success: data !== undefined,
      gasUsed: 0n,
      returnData: (data ?? '0x') as Hex,
    }));
  });
  const data = encodeFunctionResult({ abi: multicallAbi, functionName: 'multicall', result: [1n, results] });
  const tokens = Object.entries(chains.MATIC.tokens).map(([asset, address]) => ({ asset, address }));
  return { tokens, client: { call: async () => ({ data }) } } as unknown as Network;
}

const nobody = undefined;

test('the pool that holds most USDC says the price, and what others pay changes nothing', async () => {
  const prices = await askPrices(
    nodeWith([
      { price: 3_000, held: 5_000_000n },
      { price: 150_000, held: 4_999_999n },
      { price: 1, held: 0n },
      nobody,
      { price: 0.5, held: 1n },
    ]),
    1n,
  );
  const ether = worthAt(prices, { from: 'ETH', to: 'USDC', atomic: 10n ** 18n }) ?? 0n;
  expect(Number(ether)).toBeCloseTo(3_000e6, -3);
  const back = worthAt(prices, { from: 'USDC', to: 'ETH', atomic: 3_000_000_000n }) ?? 0n;
  expect(Number(back)).toBeCloseTo(1e18, -12);
  const matic = worthAt(prices, { from: 'ETH', to: 'MATIC', atomic: 10n ** 18n }) ?? 0n;
  expect(Number(matic) / 1e18).toBeCloseTo(6_000, 2);
  expect(worthAt(prices, { from: 'USDC', to: 'USDC', atomic: 7n })).toBe(7n);
});

test('what nobody trades is worth nothing that anybody could say', async () => {
  const prices = await askPrices(nodeWith([]), 1n);
  expect(worthAt(prices, { from: 'DAI', to: 'USDC', atomic: 1n })).toBeUndefined();
  expect(worthAt(prices, { from: 'USDC', to: 'DAI', atomic: 1n })).toBeUndefined();
  expect(worthAt(prices, { from: 'EURC', to: 'USDC', atomic: 1n })).toBeUndefined();
});
