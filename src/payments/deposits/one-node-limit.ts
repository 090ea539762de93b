import type { Amount } from '../../money/amount.ts';
import { assets } from '../../money/catalogue.ts';

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
 * A coin counts as more than it was ever worth. What the market says of it now is read from the same node whose word is in
 * question, which could call a million of them worthless. Rounded up: something is never worth nothing.
 */
export function worthAtMost({ asset, atomic }: Pick<Amount, 'asset'> & { readonly atomic: bigint }): Worth {
  const { decimals, worthAtMost: whole } = assets[asset];
  const unit = 10n ** BigInt(decimals);
  return (atomic * whole * 1_000_000n + unit - 1n) / unit;
}
