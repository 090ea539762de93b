import type { Hex } from 'viem';
import { isFirst, type Path } from './paths.ts';

const millionths = 1_000_000n;

/** The output at the current prices, less the pools' fees, rounded down in each pool. Undefined when a pool has no price. */
export function outAtSpot(path: Path, atomic: bigint, sqrtPrices: ReadonlyMap<Hex, bigint>): bigint | undefined {
  let amount = atomic;
  for (const { pool, fee, from, to } of path) {
    const sqrtPrice = sqrtPrices.get(pool);
    if (sqrtPrice === undefined || sqrtPrice === 0n) return undefined;
    // sqrtPriceX96 is the square root of token0's price in token1, with 96 fractional bits.
    const [squared, unit] = [sqrtPrice * sqrtPrice, 2n ** 192n];
    const taken = amount * (millionths - BigInt(fee));
    amount = isFirst(from, to) ? (taken * squared) / (unit * millionths) : (taken * unit) / (squared * millionths);
  }
  return amount;
}

/** The loss against the output at current prices, in millionths. */
export function impactOf(paid: bigint, atSpot: bigint): bigint {
  return atSpot <= paid ? 0n : ((atSpot - paid) * millionths) / atSpot;
}
