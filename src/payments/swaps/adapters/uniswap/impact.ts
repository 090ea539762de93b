import type { Hex } from 'viem';
import { isFirst, type Path } from './paths.ts';

const millionths = 1_000_000n;

/**
 * What would come out if nothing moved: at the prices as they stand, less what the pools keep, rounded down in each pool as they
 * do. Undefined when a pool has no price.
 */
export function outAtSpot(path: Path, atomic: bigint, sqrtPrices: ReadonlyMap<Hex, bigint>): bigint | undefined {
  let amount = atomic;
  for (const { pool, fee, from, to } of path) {
    const sqrtPrice = sqrtPrices.get(pool);
    if (sqrtPrice === undefined || sqrtPrice === 0n) return undefined;
    // The price is of the first token in units of the second, and twice a root with 96 binary places.
    const [squared, unit] = [sqrtPrice * sqrtPrice, 2n ** 192n];
    const taken = amount * (millionths - BigInt(fee));
    amount = isFirst(from, to) ? (taken * squared) / (unit * millionths) : (taken * unit) / (squared * millionths);
  }
  return amount;
}

/** How much less is paid than if nothing moved, in millionths. */
export function impactOf(paid: bigint, atSpot: bigint): bigint {
  return atSpot <= paid ? 0n : ((atSpot - paid) * millionths) / atSpot;
}
