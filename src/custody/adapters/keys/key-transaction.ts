import type { Hex } from 'viem';
import type { ChainId } from '../../../money/catalogue.ts';

/** A transaction that was stored and signed. */
export interface KeyTransaction {
  readonly id: string;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly walletRef: string;
  /** Null when it was refused before signing. */
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

/** Not signed yet. */
export interface NewKeyTransaction
  extends Pick<KeyTransaction, 'id' | 'chain' | 'sender' | 'walletRef' | 'to' | 'data' | 'value'> {
  /** The highest gas limit it may have. */
  readonly mostGas?: bigint | undefined;
}

/** Hex as bytes, the way the database stores it. */
export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

export function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}
