import { encodeFunctionData, type Hex, maxUint256, parseAbi } from 'viem';
import { expect } from 'vitest';
import { positionManager } from '../../sandbox/uniswap/place-uniswap.ts';
import { tradedTokens, worth } from '../../sandbox/uniswap/pools.ts';
import { swapTokens } from '../../src/payments/swaps/tokens.ts';
import type { TestChains } from './chains.ts';

const abi = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)',
  'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
  'function mint(MintParams params) payable',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
]);

export interface NewPool {
  readonly token0: Hex;
  readonly token1: Hex;
  /** In millionths. */
  readonly fee: number;
  /** The root of the price of the first token in units of the second, with 96 binary places. */
  readonly price: bigint;
}

export interface Position extends Omit<NewPool, 'price'> {
  readonly tickLower: number;
  readonly tickUpper: number;
  readonly amount0Desired: bigint;
  readonly amount1Desired: bigint;
}

export type Mallory = Awaited<ReturnType<typeof newMallory>>;

/** Somebody with so many USDC's worth of everything, who opens pools of her own. */
export async function newMallory(chains: TestChains, usdc: bigint) {
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
  const encodeMint = (position: Position) => {
    const args = [{ ...position, amount0Min: 0n, amount1Min: 0n, recipient: address, deadline: maxUint256 }] as const;
    return encodeFunctionData({ abi, functionName: 'mint', args });
  };
  return {
    async openPool({ token0, token1, fee, price }: NewPool): Promise<void> {
      const args = [token0, token1, fee, price] as const;
      await send(
        positionManager,
        encodeFunctionData({ abi, functionName: 'createAndInitializePoolIfNecessary', args }),
      );
    },
    async add(positions: readonly Position[]): Promise<void> {
      for (let start = 0; start < positions.length; start += 30) {
        const some = positions.slice(start, start + 30).map(encodeMint);
        await send(positionManager, encodeFunctionData({ abi, functionName: 'multicall', args: [some] }));
      }
    },
  };
}

/** The step in price that a root of a price lies in. */
export const tickOf = (price: bigint) => Math.floor((2 * Math.log(Number(price) / 2 ** 96)) / Math.log(1.0001));
