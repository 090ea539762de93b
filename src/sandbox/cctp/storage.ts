import { encodeAbiParameters, type Hex, keccak256, toHex } from 'viem';

/** What a variable holds, and in which slot: the compiler's rules for storage. */
export type StorageWrite = readonly [slot: bigint, value: Hex | bigint | number];

export function mapped(slot: bigint, key: Hex | bigint | number): bigint {
  return BigInt(keccak256(encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [BigInt(key), slot])));
}

/** A list: its length, and its items one after the other from a place of their own. */
export function listed(slot: bigint, items: readonly Hex[]): StorageWrite[] {
  const first = BigInt(keccak256(toHex(slot, { size: 32 })));
  return [[slot, items.length], ...items.map((item, index): StorageWrite => [first + BigInt(index), item])];
}
