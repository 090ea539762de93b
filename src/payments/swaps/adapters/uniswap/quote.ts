import { decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import { uniswap } from '../../../../chains/abi.ts';
import { type Network, tokenOf } from '../../../../chains/network.ts';
import { type Asset, assets } from '../../../../money/catalogue.ts';
import type { MarketQuote, Wanted } from '../../../../money/market.ts';
import { swapTokens } from '../../tokens.ts';
import { askAll, askPrice, type Call, gasPerPool, quoterAbi, read, readPrice } from './ask.ts';
import { impactOf, outAtSpot } from './impact.ts';
import { encodePath, listPaths, type Path } from './paths.ts';

/** Assets that are liquid enough to be an intermediate token. */
const between = swapTokens.filter((asset) => 'isHub' in assets[asset]);

/** The best quote over all paths, as of one block and in one request. */
export async function askQuote(
  network: Network,
  { from, to, atomic, mostGas }: Wanted,
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
    // A pool reverts on an amount of zero. That is rounding, not a lack of liquidity.
    const paid = readSwap(answers[pools.length + index]) ?? (atSpot === 0n ? { amountOut: 0n, gas: 0n } : undefined);
    if (paid === undefined || (mostGas !== undefined && paid.gas > mostGas)) return [];
    return [{ ...paid, impact: impactOf(paid.amountOut, atSpot), path: encodePath(path) }];
  });
  // Among equal quotes the first wins, which has the shortest path.
  return quotes.reduce<MarketQuote | undefined>(
    (best, one) => (best === undefined || one.amountOut > best.amountOut ? one : best),
    undefined,
  );
}

function askSwap(path: Path, atomic: bigint): Call {
  const args = [encodePath(path), atomic] as const;
  return {
    target: uniswap.quoter,
    gasLimit: gasPerPool * BigInt(path.length),
    callData: encodeFunctionData({ abi: quoterAbi, functionName: 'quoteExactInput', args }),
  };
}

function readSwap(data: Hex | undefined): Pick<MarketQuote, 'amountOut' | 'gas'> | undefined {
  return read(data, (known) => {
    const [amountOut, , , gas] = decodeFunctionResult({ abi: quoterAbi, functionName: 'quoteExactInput', data: known });
    return { amountOut, gas };
  });
}
