import { ContractFunctionZeroDataError, parseGwei } from 'viem';
import { expect, test } from 'vitest';
import { usualCeiling } from '../../chains/gas-fee-ceiling.ts';
import type { Network, Networks } from '../../chains/network.ts';
import { type ChainId, chainIds } from '../../money/catalogue.ts';
import { MarketUnreachable } from '../../money/market.ts';
import { createGasCosts, freeGas } from './gas-costs.ts';

interface World {
  readonly baseFee?: bigint;
  readonly tip?: bigint;
  /** What the oracle of a rollup answers, or throws. */
  readonly oracle?: (functionName: string) => unknown;
  readonly worth?: () => Promise<bigint | undefined>;
}

const noOracle = () => {
  throw new ContractFunctionZeroDataError({ functionName: 'getPricesInWei' });
};

/** Every coin at 2,000 USDC. */
function open({ baseFee = parseGwei('10'), tip = 0n, oracle = noOracle, worth }: World = {}) {
  let asked = 0;
  const client = {
    async getBlock() {
      asked++;
      return { baseFeePerGas: baseFee };
    },
    estimateMaxPriorityFeePerGas: async () => tip,
    readContract: async ({ functionName }: { functionName: string }) => oracle(functionName),
  } as unknown as Network['client'];
  const networks: Networks = new Map(
    chainIds.map((id) => [id, { id, client, feeCeiling: usualCeiling(id) } as Network]),
  );
  const market = {
    worth: worth ?? (async ({ atomic }: { atomic: bigint }) => (atomic * 2_000n) / 10n ** 12n),
  } as unknown as Parameters<typeof createGasCosts>[0]['market'];
  let now = 0;
  const costs = createGasCosts({ networks, market, untradedInUsdc: { AVAX: 50_000_000n }, clock: { now: () => now } });
  return { costs, asked: () => asked, pass: (ms: number) => (now += ms) };
}

const work = { gas: 100_000n, bytes: 1_000n };

test.each<[ChainId, bigint]>([
  // 100,000 units at 10 gwei are a thousandth of a coin.
  ['MATIC', 2_000_000n],
  ['ETH', 2_000_000n],
  ['AVAX', 50_000n],
])('gas on %s costs what its coin is worth', async (chain, usdc) => {
  expect(await open().costs.inUsdc(chain, work)).toBe(usdc);
  expect(await freeGas.inUsdc(chain, work)).toBe(0n);
});

test('is rounded up, and nothing costs nothing', async () => {
  const { costs } = open({ baseFee: 1n });
  expect(await costs.inUsdc('ETH', { gas: 1n, bytes: 0n })).toBe(1n);
  expect(await costs.inUsdc('ETH', { gas: 0n, bytes: 0n })).toBe(0n);
});

test('a rollup charges for the bytes on Ethereum besides', async () => {
  const wei = 10n ** 12n;
  const oracle = (functionName: string) =>
    functionName === 'getL1FeeUpperBound' ? wei * 1_000n - 1_000n : [0n, wei, 0n, 0n, 0n, 0n];
  for (const chain of ['BASE', 'OP', 'ARB'] as const) {
    // A thousand bytes at 10¹² wei are another thousandth of an ether.
    expect(await open({ oracle }).costs.inUsdc(chain, work)).toBe(4_000_000n);
    expect(await open().costs.inUsdc(chain, work)).toBe(2_000_000n);
  }
});

test('however many ask, the nodes are asked once in half a minute', async () => {
  const { costs, asked, pass } = open();
  await Promise.all(Array.from({ length: 50 }, () => costs.inUsdc('ETH', work)));
  pass(29_999);
  await costs.inUsdc('ETH', work);
  expect(asked()).toBe(1);
  pass(1);
  await costs.inUsdc('ETH', work);
  expect(asked()).toBe(2);
});

test.each<[string, World]>([
  ['the chain asks for more than the ceiling', { baseFee: usualCeiling('ETH').maxFee + 1n }],
  ['the market is silent', { worth: () => Promise.reject(new MarketUnreachable()) }],
  ['nobody pays for the coin', { worth: async () => undefined }],
])('cannot be told while %s, and is asked for anew some seconds later', async (_name, world) => {
  const { costs, asked, pass } = open(world);
  const refusal = { status: 503, code: 'unavailable' };
  await expect(costs.inUsdc('ETH', work)).rejects.toMatchObject(refusal);
  pass(4_999);
  await expect(costs.inUsdc('ETH', work)).rejects.toMatchObject(refusal);
  expect(asked()).toBe(1);
  pass(1);
  await expect(costs.inUsdc('ETH', work)).rejects.toMatchObject(refusal);
  expect(asked()).toBe(2);
});

test('an oracle that fails is not a chain without one', async () => {
  const { costs } = open({
    oracle: () => {
      throw new Error('silent');
    },
  });
  await expect(costs.inUsdc('OP', work)).rejects.toMatchObject({ code: 'unavailable' });
});
