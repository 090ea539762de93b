import { concat, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem';
import { marketMaker } from '../../sandbox/accounts.ts';
import { type Pool, pools, type Traded, tradedTokens } from '../../sandbox/uniswap/pools.ts';
import { uniswap } from '../../src/chains/abi.ts';
import { homeChain } from '../../src/money/catalogue.ts';
import type { Outsider, TestChains } from './chains.ts';

/** From token to token, each with the fee of the pool between. */
export type Path = readonly [Traded, ...(readonly [fee: Pool['fee'], to: Traded])[]];

export interface Swap {
  readonly path: Path;
  readonly amountIn: bigint;
}

const abi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'struct ExactInput { bytes path; address recipient; uint256 amountIn; uint256 amountOutMinimum; }',
  'function exactInput(ExactInput params) payable returns (uint256 amountOut)',
  'struct ExactInputSingle { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
  'function exactInputSingle(ExactInputSingle params) payable returns (uint256 amountOut)',
]);
const quoterAbi = parseAbi([
  'function quoteExactInput(bytes path, uint256 amountIn) returns (uint256 amountOut, uint160[] sqrtPriceX96AfterList, uint32[] initializedTicksCrossedList, uint256 gasEstimate)',
]);

/** The pool of two assets with this fee, or the cheapest. */
export function poolOf(one: Traded, other: Traded, fee?: Pool['fee']): Pool {
  const found = pools.find(
    ({ assets, fee: its }) => assets.includes(one) && assets.includes(other) && (fee === undefined || fee === its),
  );
  if (found === undefined) throw new Error(`there is no pool for ${one} and ${other}`);
  return found;
}

/** Directly, or by way of USDC. */
export function pathOf(from: Traded, to: Traded): Path {
  const direct = pools.find(({ assets }) => assets.includes(from) && assets.includes(to));
  if (direct !== undefined) return [from, [direct.fee, to]];
  return [from, [poolOf(from, 'USDC').fee, 'USDC'], [poolOf('USDC', to).fee, to]];
}

function encodePath([from, ...hops]: Path): Hex {
  return concat([tradedTokens[from], ...hops.flatMap(([fee, to]) => [toHex(fee, { size: 3 }), tradedTokens[to]])]);
}

/** The market of the sandbox, for tests that quote, trade, and move its prices. */
export function useMarket(chains: TestChains) {
  const client = () => chains.network(homeChain).client;

  async function mined(hash: Hex): Promise<void> {
    const { status } = await client().waitForTransactionReceipt({ hash, pollingInterval: 20 });
    if (status !== 'success') throw new Error(`${hash} was reverted`);
  }

  const balanceOf = (asset: Traded, owner: Hex) =>
    client().readContract({ abi, address: tradedTokens[asset], functionName: 'balanceOf', args: [owner] });

  async function send(from: Outsider, to: Hex, data: Hex): Promise<void> {
    const gas = 1_000_000n;
    await mined(
      await from.wallet().sendTransaction({ account: from.account, chain: client().chain ?? null, to, data, gas }),
    );
  }

  async function approve(from: Outsider, asset: Traded, amount: bigint): Promise<void> {
    const data = encodeFunctionData({ abi, functionName: 'approve', args: [uniswap.router, amount] });
    await send(from, tradedTokens[asset], data);
  }

  async function priceOf({ address }: Pool): Promise<bigint> {
    const [price] = await client().readContract({ abi, address, functionName: 'slot0' });
    return price;
  }

  return {
    balanceOf,
    /** The root of a pool's price, times 2^96. */
    priceOf,
    /** By how many millionths a pool's price is above or below the one that the sandbox keeps it at. */
    async deviationOf(pool: Pool): Promise<number> {
      const price = await priceOf(pool);
      return Number((price ** 2n * 1_000_000_000n) / pool.reference ** 2n - 1_000_000_000n) / 1_000;
    },
    /** What the real QuoterV2 says that a swap would pay now. */
    async quote({ path, amountIn }: Swap): Promise<bigint> {
      const { result } = await client().simulateContract({
        abi: quoterAbi,
        address: uniswap.quoter,
        functionName: 'quoteExactInput',
        args: [encodePath(path), amountIn],
      });
      return result[0];
    },
    /** Swaps what somebody owns through SwapRouter02, and answers with what arrived. */
    async swap(from: Outsider, { path, amountIn }: Swap): Promise<bigint> {
      const [first] = path;
      const last = path.slice(1).at(-1)?.[1] as Traded;
      await approve(from, first, amountIn);
      const before = await balanceOf(last, from.address);
      const params = { path: encodePath(path), recipient: from.address, amountIn, amountOutMinimum: 0n };
      await send(from, uniswap.router, encodeFunctionData({ abi, functionName: 'exactInput', args: [params] }));
      return (await balanceOf(last, from.address)) - before;
    },
    /**
     * Trades until one whole `asset` costs so many per mille more (or, below zero, less) in the other one of its pool than
     * it does by the sandbox's prices. The market maker would bring it back: let it rest before.
     */
    async movePrice({ asset, pool, perMille }: { asset: Traded; pool: Pool; perMille: number }): Promise<void> {
      const [first, second] = pool.assets;
      const factor = 1 + perMille / 1_000;
      const root = Math.sqrt(asset === first ? factor : 1 / factor);
      const target = (pool.reference * BigInt(Math.round(root * 2 ** 50))) >> 50n;
      const isUp = target > (await priceOf(pool));
      const [tokenIn, tokenOut] = isUp ? [second, first] : [first, second];
      const amountIn = 10n ** (tokenIn === 'USDC' ? 15n : 27n);
      const mover = await chains.outsider({
        tokens: [{ asset: tokenIn === 'MATIC' ? 'WMATIC' : tokenIn, atomic: amountIn }],
      });
      await approve(mover, tokenIn, amountIn);
      const params = {
        tokenIn: tradedTokens[tokenIn],
        tokenOut: tradedTokens[tokenOut],
        fee: pool.fee,
        recipient: mover.address,
        amountIn,
        amountOutMinimum: 0n,
        sqrtPriceLimitX96: target,
      };
      await send(mover, uniswap.router, encodeFunctionData({ abi, functionName: 'exactInputSingle', args: [params] }));
    },
    /** Without coin for its gas the market maker does not trade, also after a restart. */
    async restMarketMaker(): Promise<void> {
      await chains.rpc(homeChain, 'hardhat_setBalance', [marketMaker.address, '0x0']);
    },
    async wakeMarketMaker(): Promise<void> {
      await chains.rpc(homeChain, 'hardhat_setBalance', [marketMaker.address, toHex(10n ** 24n)]);
    },
  };
}
