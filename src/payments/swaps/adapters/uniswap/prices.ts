import type { Hex } from 'viem';
import { type Network, tokenOf } from '../../../../chains/network.ts';
import { type Asset, coins } from '../../../../money/catalogue.ts';
import type { Wanted } from '../../../../money/market.ts';
import { askAll, askBalance, askPrice, readBalance, readPrice } from './ask.ts';
import { outAtSpot } from './impact.ts';
import { type Hop, listPaths } from './paths.ts';

/** For each asset the pool to USDC that holds the most USDC, and its price. */
export interface Prices {
  readonly hops: ReadonlyMap<Asset, Hop>;
  readonly sqrtPrices: ReadonlyMap<Hex, bigint>;
}

/**
 * The prices of all assets, by the deepest pool of each. Anybody can open a pool with any price, but to count here it must hold more USDC than
 * every other pool of the pair.
 */
export async function askPrices(network: Network, blockNumber: bigint): Promise<Prices> {
  const usdc = tokenOf(network, 'USDC')?.address;
  const candidates = coins.flatMap((asset) => {
    const address = tokenOf(network, asset)?.address;
    if (usdc === undefined || address === undefined) return [];
    return listPaths(address, usdc, []).flatMap(([hop]) => (hop === undefined ? [] : [{ asset, hop }]));
  });
  const answers = await askAll(
    network,
    candidates.flatMap(({ hop: { pool, to } }) => [askPrice(pool), askBalance(to, pool)]),
    { blockNumber },
  );
  const hops = new Map<Asset, Hop>();
  const sqrtPrices = new Map<Hex, bigint>();
  const most = new Map<Asset, bigint>();
  for (const [index, { asset, hop }] of candidates.entries()) {
    const sqrtPrice = readPrice(answers[2 * index]);
    const held = readBalance(answers[2 * index + 1]) ?? 0n;
    if (sqrtPrice === undefined || sqrtPrice === 0n || held <= (most.get(asset) ?? 0n)) continue;
    most.set(asset, held);
    // A price does not include the pool's fee.
    hops.set(asset, { ...hop, fee: 0 });
    sqrtPrices.set(hop.pool, sqrtPrice);
  }
  return { hops, sqrtPrices };
}

/** The value at these prices, through USDC. Undefined when there is no pool. */
export function worthAt({ hops, sqrtPrices }: Prices, { from, to, atomic }: Wanted): bigint | undefined {
  const path: Hop[] = [];
  if (from !== 'USDC') {
    const hop = hops.get(from);
    if (hop === undefined) return undefined;
    path.push(hop);
  }
  if (to !== 'USDC') {
    const hop = hops.get(to);
    if (hop === undefined) return undefined;
    path.push({ ...hop, from: hop.to, to: hop.from });
  }
  return outAtSpot(path, atomic, sqrtPrices);
}
