import type { Hex } from 'viem';
import type { ChainId } from '../../../money/catalogue.ts';

/** Transactions that were signed and written down, and what has become of them. */
export interface KeyTransaction {
  readonly id: string;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly walletRef: string;
  /** Null when it was refused before it was signed. */
  readonly nonce: number | null;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  readonly gasLimit: bigint | null;
  readonly state: 'pending' | 'confirmed' | 'failed';
  readonly minedHash: Hex | null;
  readonly blockNumber: bigint | null;
  readonly gasCost: bigint | null;
  readonly reason: string | null;
}

/** One that nothing was signed for yet. */
export interface NewKeyTransaction
  extends Pick<KeyTransaction, 'id' | 'chain' | 'sender' | 'walletRef' | 'to' | 'data' | 'value'> {
  /** What its gas may come to at most. */
  readonly mostGas?: bigint | undefined;
}
