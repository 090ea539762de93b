import type { Amount } from '../../money/amount.ts';
import { assets } from '../../money/catalogue.ts';

/** In millionths of a USDC. */
export type Worth = bigint;

/** How much is credited when only one node shows it: per transfer, and per chain and hour. */
export interface OneNodeLimit {
  readonly atOnce: Worth;
  readonly perHour: Worth;
}

/** An attacker who controls a node could split an invented deposit, so small deposits count together. */
const timesAnHour = 2n;

export function oneNodeLimit(wholeUnits: number): OneNodeLimit {
  const atOnce = BigInt(wholeUnits) * 1_000_000n;
  return { atOnce, perHour: atOnce * timesAnHour };
}

/**
 * Values a coin above its highest price ever. A market price comes from the same node that is in question, which could
 * claim that a million coins are worthless. Rounds up, so that no amount counts as zero.
 */
export function worthAtMost({ asset, atomic }: Pick<Amount, 'asset'> & { readonly atomic: bigint }): Worth {
  const { decimals, worthAtMost: whole } = assets[asset];
  const unit = 10n ** BigInt(decimals);
  return (atomic * whole * 1_000_000n + unit - 1n) / unit;
}
