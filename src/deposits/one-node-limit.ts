import type { Amount } from '../money/amount.ts';
import { type Asset, decimalsOf } from '../money/asset.ts';

/** In millionths of a USDC. */
export type Worth = bigint;

/** How much is credited on the word of one node alone: at once, and on one chain within an hour. */
export interface OneNodeLimit {
  readonly atOnce: Worth;
  readonly perHour: Worth;
}

/** Somebody who controls a node could split what he invents, so small deposits count together as well. */
const timesAnHour = 2n;

export function oneNodeLimit(wholeUnits: number): OneNodeLimit {
  const atOnce = BigInt(wholeUnits) * 1_000_000n;
  return { atOnce, perHour: atOnce * timesAnHour };
}

/**
 * What a unit of each asset counts, in USDC: for a coin more than it was ever worth. What the market says of it now is read
 * from the same node whose word is in question, which could call a million of them worthless.
 */
const countedAt: Readonly<Record<Asset, bigint>> = { USDC: 1n, EURC: 1n, DAI: 1n, ETH: 10_000n, MATIC: 3n, AVAX: 150n };

/** Rounded up: something is never worth nothing. */
export function worthAtMost({ asset, atomic }: Pick<Amount, 'asset'> & { readonly atomic: bigint }): Worth {
  const unit = 10n ** BigInt(decimalsOf[asset]);
  return (atomic * countedAt[asset] * 1_000_000n + unit - 1n) / unit;
}
