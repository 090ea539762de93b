import { BaseError, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import { type Network, tokenOf } from '../../chains/network.ts';
import { uniswap, uniswapMulticall } from '../../chains/uniswap.ts';
import type { Asset } from '../../money/asset.ts';
import { type MarketQuote, MarketUnreachable, type Wanted } from '../../swaps/market.ts';
import { multicallAbi, poolAbi, quoterAbi } from './abi.ts';
import { impactOf, outAtSpot } from './impact.ts';
import { encodePath, listPaths, type Path } from './paths.ts';

/** The assets that are deep enough to go through. */
const between: readonly Asset[] = ['USDC', 'ETH', 'MATIC', 'DAI'];

/**
 * What going through one pool may use of gas: dozens of its steps in price. Anybody can open a pool, and one that runs dry is
 * searched for more to its very end. Without a bound a handful of these would use up what a node spends on one request, and
 * nobody would get a quote.
 */
const gasPerPool = 500_000n;

interface Call {
  readonly target: Hex;
  readonly gasLimit: bigint;
  readonly callData: Hex;
}

/**
 * What the chain would pay at a block, over the best of all ways. One request: the quoter makes every swap and undoes it, and
 * every pool tells its price.
 */
export async function askQuote(
  network: Network,
  { from, to, atomic }: Wanted,
  blockNumber: bigint,
): Promise<MarketQuote | undefined> {
  const address = (asset: Asset) => tokenOf(network, asset)?.address;
  const [sold, bought] = [address(from), address(to)];
  if (sold === undefined || bought === undefined) return undefined;
  const others = between.flatMap((asset) => address(asset) ?? []);
  const paths = listPaths(sold, bought, others);
  const pools = [...new Set(paths.flatMap((path) => path.map(({ pool }) => pool)))];
  const answers = await askAll(network, [...pools.map(askPrice), ...paths.map((path) => askSwap(path, atomic))], {
    blockNumber,
  });
  const sqrtPrices = new Map<Hex, bigint>();
  for (const [index, pool] of pools.entries()) {
    const sqrtPrice = readPrice(answers[index]);
    if (sqrtPrice !== undefined) sqrtPrices.set(pool, sqrtPrice);
  }
  const quotes = paths.flatMap((path, index) => {
    const atSpot = outAtSpot(path, atomic, sqrtPrices);
    if (atSpot === undefined) return [];
    // A pool on the way refuses to swap nothing for nothing: that is no lack of what it could pay.
    const paid = readSwap(answers[pools.length + index]) ?? (atSpot === 0n ? { amountOut: 0n, gas: 0n } : undefined);
    if (paid === undefined) return [];
    return [{ ...paid, impact: impactOf(paid.amountOut, atSpot), path: encodePath(path) }];
  });
  // Of equal ones the first, which is the shortest.
  return quotes.reduce<MarketQuote | undefined>(
    (best, one) => (best === undefined || one.amountOut > best.amountOut ? one : best),
    undefined,
  );
}

function askPrice(pool: Hex): Call {
  return {
    target: pool,
    gasLimit: gasPerPool,
    callData: encodeFunctionData({ abi: poolAbi, functionName: 'slot0' }),
  };
}

function askSwap(path: Path, atomic: bigint): Call {
  const args = [encodePath(path), atomic] as const;
  return {
    target: uniswap.quoter,
    gasLimit: gasPerPool * BigInt(path.length),
    callData: encodeFunctionData({ abi: quoterAbi, functionName: 'quoteExactInput', args }),
  };
}

/**
 * Undefined in the place of each call that was refused or answered nothing: there is no such pool, or it holds so little that it
 * would take too much gas.
 */
async function askAll(
  { client }: Network,
  calls: readonly Call[],
  { blockNumber }: { readonly blockNumber: bigint },
): Promise<(Hex | undefined)[]> {
  try {
    const { data = '0x' } = await client.call({
      to: uniswapMulticall,
      data: encodeFunctionData({ abi: multicallAbi, functionName: 'multicall', args: [calls] }),
      blockNumber,
    });
    const [, results] = decodeFunctionResult({ abi: multicallAbi, functionName: 'multicall', data });
    return results.map(({ success, returnData }) => (success && returnData !== '0x' ? returnData : undefined));
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('the chain does not say what the market pays', { cause });
  }
}

function readPrice(data: Hex | undefined): bigint | undefined {
  return read(data, (known) => decodeFunctionResult({ abi: poolAbi, functionName: 'slot0', data: known })[0]);
}

function readSwap(data: Hex | undefined): Pick<MarketQuote, 'amountOut' | 'gas'> | undefined {
  return read(data, (known) => {
    const [amountOut, , , gas] = decodeFunctionResult({ abi: quoterAbi, functionName: 'quoteExactInput', data: known });
    return { amountOut, gas };
  });
}

/** A node that answers with something else has not said what the market pays. */
function read<T>(data: Hex | undefined, decode: (data: Hex) => T): T | undefined {
  if (data === undefined) return undefined;
  try {
    return decode(data);
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('what the chain says of the market cannot be read', { cause });
  }
}
