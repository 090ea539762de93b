import { formatGwei, parseGwei } from 'viem';
import { type ChainId, chains } from '../money/catalogue.ts';

export interface GasFees {
  readonly maxFee: bigint;
  /** The part of it that goes to whoever mines it, however cheap the block is: what a lie about the price would be paid as. */
  readonly priorityFee: bigint;
}

/** The most that a transaction of ours may offer for a unit of gas, and the most gas that it may allow. */
export interface FeeCeiling extends GasFees {
  readonly gasLimit: bigint;
}

/** A settlement of a hundred payments takes some four million, and half as much again is allowed for. */
const usualGasLimit = 10_000_000n;

export function usualCeiling(chain: ChainId): FeeCeiling {
  const { fee, tip } = chains[chain].gasCeiling;
  return { maxFee: parseGwei(fee), priorityFee: parseGwei(tip), gasLimit: usualGasLimit };
}

/** A node asks for more than we ever pay. Nothing is signed: the chain becomes cheaper, or the operator finds out who lies. */
export class FeesAboveCeiling extends Error {
  override readonly name = 'FeesAboveCeiling';
  readonly retryAfterMs = 30_000;
}

/**
 * What to offer when a node asks for this much. A tip above the ceiling is cut to it, for it is only a wish. What the block
 * itself costs cannot be cut: a transaction that offers less would hold its nonce, and all that come after it, for as long as
 * the price stays. Below the ceiling there is room for that price to double before the transaction is stuck.
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
