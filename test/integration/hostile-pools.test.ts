import { encodeFunctionData, type Hex, maxUint256, parseAbi } from 'viem';
import { expect, test } from 'vitest';
import { createUniswapMarket } from '../../src/providers/uniswap/uniswap-market.ts';
import { positionManager } from '../../src/sandbox/uniswap/place-uniswap.ts';
import { type Traded, tradedTokens, worth } from '../../src/sandbox/uniswap/pools.ts';
import { swapTokens } from '../../src/swaps/tokens.ts';
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
]);

/** The finest pool that there can be, at the price of the one that is deep, with one USDC's worth on each side. */
async function openDustPools(pairs: readonly (readonly [Traded, Traded])[]): Promise<void> {
  const { client } = chains.network('MATIC');
  const mallory = await chains.outsider({
    tokens: swapTokens.map((asset) => ({ asset: asset === 'MATIC' ? 'WMATIC' : asset, atomic: worth(asset, 10n) })),
  });
  const send = async (to: Hex, data: Hex) => {
    const { account, wallet } = mallory;
    const hash = await wallet().sendTransaction({ account, chain: client.chain ?? null, to, data, gas: 7_000_000n });
    expect((await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })).status).toBe('success');
  };
  for (const asset of swapTokens) {
    const args = [positionManager, maxUint256] as const;
    await send(tradedTokens[asset], encodeFunctionData({ abi, functionName: 'approve', args }));
  }
  for (const pair of pairs) {
    const deep = poolOf(...pair);
    const [first, second] = deep.assets;
    const price = await priceOf(deep);
    const tick = Math.floor((2 * Math.log(Number(price) / 2 ** 96)) / Math.log(1.0001));
    const [token0, token1, fee] = [tradedTokens[first], tradedTokens[second], 100] as const;
    const args = [token0, token1, fee, price] as const;
    const open = encodeFunctionData({ abi, functionName: 'createAndInitializePoolIfNecessary', args });
    await send(positionManager, open);
    const dust = {
      token0,
      token1,
      fee,
      tickLower: tick - 10,
      tickUpper: tick + 10,
      amount0Desired: worth(first, 1n),
      amount1Desired: worth(second, 1n),
      amount0Min: 0n,
      amount1Min: 0n,
      recipient: mallory.address,
      deadline: maxUint256,
    };
    await send(positionManager, encodeFunctionData({ abi, functionName: 'mint', args: [dust] }));
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
