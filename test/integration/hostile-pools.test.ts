import { encodeFunctionData, type Hex, maxUint256, parseAbi } from 'viem';
import { expect, test } from 'vitest';
import { amountOf } from '../../src/money/amount.ts';
import { createUniswapMarket } from '../../src/providers/uniswap/uniswap-market.ts';
import { positionManager } from '../../src/sandbox/uniswap/place-uniswap.ts';
import { type Traded, tradedTokens, worth } from '../../src/sandbox/uniswap/pools.ts';
import { quoteSwap } from '../../src/swaps/quote-swap.ts';
import { swapTokens } from '../../src/swaps/tokens.ts';
import { freeGas } from '../../src/treasury/gas-costs.ts';
import { refuseBeyondValue } from '../../src/withdrawals/value-limits.ts';
import { useChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';
import { poolOf, useMarket } from '../support/uniswap.ts';

const database = useDatabase();
const chains = useChains(database, { pollMs: 0 });
const { priceOf } = useMarket(chains);

const abi = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)',
  'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
  'function mint(MintParams params) payable',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
]);

interface Mallory {
  readonly address: Hex;
  send(to: Hex, data: Hex): Promise<void>;
}

/** Somebody with so many USDC of everything, whom the pools may take it from. */
async function newMallory(usdc: bigint): Promise<Mallory> {
  const { client } = chains.network('MATIC');
  const { account, wallet, address } = await chains.outsider({
    tokens: swapTokens.map((asset) => ({ asset: asset === 'MATIC' ? 'WMATIC' : asset, atomic: worth(asset, usdc) })),
  });
  const send = async (to: Hex, data: Hex) => {
    const hash = await wallet().sendTransaction({ account, chain: client.chain ?? null, to, data, gas: 15_000_000n });
    expect((await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })).status).toBe('success');
  };
  for (const asset of swapTokens) {
    const args = [positionManager, maxUint256] as const;
    await send(tradedTokens[asset], encodeFunctionData({ abi, functionName: 'approve', args }));
  }
  return { address, send };
}

const tickOf = (price: bigint) => Math.floor((2 * Math.log(Number(price) / 2 ** 96)) / Math.log(1.0001));

interface Position {
  readonly token0: Hex;
  readonly token1: Hex;
  readonly fee: number;
  readonly tickLower: number;
  readonly tickUpper: number;
  readonly amount0Desired: bigint;
  readonly amount1Desired: bigint;
}

function encodeMint({ address: recipient }: Mallory, position: Position): Hex {
  const args = [{ ...position, amount0Min: 0n, amount1Min: 0n, recipient, deadline: maxUint256 }] as const;
  return encodeFunctionData({ abi, functionName: 'mint', args });
}

/** The finest pool that there can be, at the price of the one that is deep, with one USDC's worth on each side. */
async function openDustPools(pairs: readonly (readonly [Traded, Traded])[]): Promise<void> {
  const mallory = await newMallory(10n);
  for (const pair of pairs) {
    const deep = poolOf(...pair);
    const [first, second] = deep.assets;
    const price = await priceOf(deep);
    const tick = tickOf(price);
    const [token0, token1, fee] = [tradedTokens[first], tradedTokens[second], 100] as const;
    const args = [token0, token1, fee, price] as const;
    const open = encodeFunctionData({ abi, functionName: 'createAndInitializePoolIfNecessary', args });
    await mallory.send(positionManager, open);
    const dust = {
      token0,
      token1,
      fee,
      tickLower: tick - 10,
      tickUpper: tick + 10,
      amount0Desired: worth(first, 1n),
      amount1Desired: worth(second, 1n),
    };
    await mallory.send(positionManager, encodeMint(mallory, dust));
  }
}

test('pools with next to nothing in them, which anybody can open, keep nobody from getting a quote', async () => {
  const market = createUniswapMarket(chains.networks);
  const wanted = { from: 'USDC', to: 'ETH', atomic: 100_000_000n } as const;
  const before = await market.quote(wanted);
  expect(before).toBeDefined();
  // Each runs dry at once, and is then searched for more over every price that there can be.
  await openDustPools([
    ['USDC', 'ETH'],
    ['USDC', 'MATIC'],
    ['ETH', 'MATIC'],
    ['ETH', 'DAI'],
  ]);
  expect(await market.quote(wanted)).toEqual(before);
});

/** Steps in the price of every pool that buys MATIC, so many that no quote goes past them. */
async function addSteps(mallory: Mallory): Promise<void> {
  for (const other of ['USDC', 'ETH'] as const) {
    const { fee, reference } = poolOf('MATIC', other);
    const top = Math.floor(tickOf(reference) / 10) * 10 - 10;
    const steps = Array.from({ length: 60 }, (_, place) =>
      encodeMint(mallory, {
        token0: tradedTokens.MATIC,
        token1: tradedTokens[other],
        fee,
        tickLower: top - 10 * (place + 1),
        tickUpper: top - 10 * place,
        amount0Desired: 0n,
        amount1Desired: worth(other, 1n) / 10n,
      }),
    );
    for (const some of [steps.slice(0, 30), steps.slice(30)])
      await mallory.send(positionManager, encodeFunctionData({ abi, functionName: 'multicall', args: [some] }));
  }
}

test('a pool at a price of its own, which alone quotes what is large, makes nothing cheap', async () => {
  const mallory = await newMallory(100n);
  await addSteps(mallory);
  const [token0, token1, fee] = [tradedTokens.MATIC, tradedTokens.USDC, 10_000] as const;
  // A millionth of a USDC for one MATIC.
  const args = [token0, token1, fee, 2n ** 96n / 10n ** 9n] as const;
  const open = encodeFunctionData({ abi, functionName: 'createAndInitializePoolIfNecessary', args });
  await mallory.send(positionManager, open);
  const range = { tickLower: -415_000, tickUpper: -414_800, amount0Desired: 0n, amount1Desired: 20_000_000n };
  await mallory.send(positionManager, encodeMint(mallory, { token0, token1, fee, ...range }));
  const market = createUniswapMarket(chains.networks);
  const much = amountOf('MATIC', worth('MATIC', 2_500_000n));
  // It is all that anybody pays, and hardly moves the price of that pool.
  const quote = await market.quote({ from: 'MATIC', to: 'USDC', atomic: much.atomic });
  expect(quote?.amountOut).toBeLessThan(10_000_000n);
  expect(quote?.impact).toBeLessThan(50_000n);
  await expect(quoteSwap({ market, gasCosts: freeGas }, much, 'USDC')).rejects.toMatchObject({
    code: 'price_impact_too_high',
  });
  await expect(refuseBeyondValue(market, much)).rejects.toMatchObject({ code: 'invalid_request' });
});
