import type { Hex } from 'viem';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** Tokens that came to a house wallet from outside, and what their receipt proves. */
export interface HouseArrival {
  readonly chain: ChainId;
  readonly txHash: Hex;
  readonly address: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly proofs: readonly string[];
  /** When it was first seen; what was asked for later cannot have brought it. */
  readonly seenAt: Date;
}
