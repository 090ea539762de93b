import type { Hex } from 'viem';

/** Hex as bytes, the way the database stores it. */
export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

export function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}
