import type { Hex } from 'viem';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** Tokens that arrived at a house wallet, and what their receipt proves. */
export interface HouseArrival {
  readonly chain: ChainId;
  readonly txHash: Hex;
  readonly address: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly proofs: readonly string[];
  /** A step that was submitted later cannot have caused it. */
  readonly seenAt: Date;
}
