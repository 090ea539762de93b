import { formatGwei, parseGwei } from 'viem';
import { type ChainId, chains } from '../money/catalogue.ts';

export interface GasFees {
  readonly maxFee: bigint;
  /** The tip goes to the validator however cheap the block is, so a node that overstates it makes us overpay. */
  readonly priorityFee: bigint;
}

/** The most that a transaction of ours offers per unit of gas, and the highest gas limit that it sets. */
export interface FeeCeiling extends GasFees {
  readonly gasLimit: bigint;
}

/** A settlement of a hundred payments takes about four million gas, and its limit is set half as high again. */
const usualGasLimit = 10_000_000n;

export function usualCeiling(chain: ChainId): FeeCeiling {
  const { fee, tip } = chains[chain].gasCeiling;
  return { maxFee: parseGwei(fee), priorityFee: parseGwei(tip), gasLimit: usualGasLimit };
}

/**
 * A node asks for more than the ceiling. Nothing is signed: fees fall again, or the operator finds the node that
 * overstates them.
 */
export class FeesAboveCeiling extends Error {
  override readonly name = 'FeesAboveCeiling';
  readonly retryAfterMs = 30_000;
}

/**
 * The fees to offer. A tip above the ceiling is cut to it. The base fee cannot be cut: a transaction below it would
 * block its nonce, and all later ones, until the fee falls. Where the ceiling allows, the base fee may double before
 * the transaction gets stuck.
 */
export function keepBelow(
  ceiling: GasFees,
  { chain, baseFee, tip }: { readonly chain: ChainId; readonly baseFee: bigint; readonly tip: bigint },
): GasFees {
  const priorityFee = smaller(tip, ceiling.priorityFee);
  if (baseFee + priorityFee > ceiling.maxFee) {
    throw new FeesAboveCeiling(
      `${chain} asks for ${formatGwei(baseFee + priorityFee)} gwei, and FEE_CEILING_GWEI allows ${formatGwei(ceiling.maxFee)}`,
    );
  }
  return { maxFee: smaller(baseFee * 2n + priorityFee, ceiling.maxFee), priorityFee };
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
