import { createRequire } from 'node:module';
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

interface CompiledContract {
  readonly code: Hex;
  /** The code offsets of each immutable. */
  readonly immutables: Readonly<Record<string, readonly number[]>>;
  /** The storage slot of each variable. */
  readonly slots: Readonly<Record<string, number>>;
}

const rooms = {
  MessageTransmitterV2: 'cctp',
  TokenMessengerV2: 'cctp',
  TokenMinterV2: 'cctp',
  MaticWETH: 'coins',
  UChildDAI: 'coins',
} as const;

type ContractName = keyof typeof rooms;

const require = createRequire(import.meta.url);

/** Compiled by scripts/compile-contracts.mjs and committed; read when the first contract is missing. */
function compiled(name: ContractName): CompiledContract {
  const read = require(`./${rooms[name]}/compiled-contracts.json`) as Readonly<Record<string, CompiledContract>>;
  const found = read[name];
  if (found === undefined) throw new Error(`${name} was not compiled`);
  return found;
}

/** The deployed code, with its immutables filled in. */
export function codeOf(name: ContractName, constants: Readonly<Record<string, Hex | number>> = {}): Hex {
  const { code, immutables } = compiled(name);
  let placed = code.slice(2);
  for (const [constant, places] of Object.entries(immutables)) {
    const value = constants[constant];
    if (value === undefined) throw new Error(`${name} needs ${constant}`);
    const word = toHex(BigInt(value), { size: 32 }).slice(2);
    for (const start of places) placed = `${placed.slice(0, start * 2)}${word}${placed.slice((start + 32) * 2)}`;
  }
  return `0x${placed}`;
}

export function slotOf(name: ContractName, variable: string): bigint {
  const slot = compiled(name).slots[variable];
  if (slot === undefined) throw new Error(`${name} has no ${variable}`);
  return BigInt(slot);
}
