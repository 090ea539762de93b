import { encodeAbiParameters, type Hex, keccak256, stringToHex, toHex } from 'viem';
import type { RpcCall } from './chains/evm-node.ts';

/** A storage write, following Solidity's storage layout. */
export type StorageWrite = readonly [slot: bigint, value: Hex | bigint | number];

export function mapped(slot: bigint, key: Hex | bigint | number): bigint {
  return BigInt(keccak256(encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [BigInt(key), slot])));
}

/** A dynamic array: its length, then its items from a hashed slot. */
export function listed(slot: bigint, items: readonly Hex[]): StorageWrite[] {
  const first = BigInt(keccak256(toHex(slot, { size: 32 })));
  return [[slot, items.length], ...items.map((item, index): StorageWrite => [first + BigInt(index), item])];
}

/** Up to 31 bytes: the bytes from the left, twice the length at the end. */
export function shortString(text: string): Hex {
  const bytes = stringToHex(text, { size: 32 });
  return `${bytes.slice(0, -2)}${(text.length * 2).toString(16).padStart(2, '0')}` as Hex;
}

export function setCode(address: Hex, code: Hex): RpcCall {
  return { method: 'hardhat_setCode', params: [address, code] };
}

export function setStorage(address: Hex, [slot, value]: StorageWrite): RpcCall {
  return { method: 'hardhat_setStorageAt', params: [address, toHex(slot), toHex(BigInt(value), { size: 32 })] };
}
