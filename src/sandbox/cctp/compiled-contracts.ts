import { createRequire } from 'node:module';
import { type Hex, toHex } from 'viem';

interface CompiledContract {
  readonly code: Hex;
  /** Where in the code a constant goes that is known only when the contract is put in its place. */
  readonly immutables: Readonly<Record<string, readonly number[]>>;
  /** Where in storage each variable is. */
  readonly slots: Readonly<Record<string, number>>;
}

type ContractName = 'MessageTransmitterV2' | 'TokenMessengerV2' | 'TokenMinterV2';

let read: Readonly<Record<ContractName, CompiledContract>> | undefined;

/** Made by scripts/compile-contracts.mjs and committed. It is read when the first contract is missing. */
function compiled(name: ContractName): CompiledContract {
  read ??= createRequire(import.meta.url)('./compiled-contracts.json') as NonNullable<typeof read>;
  return read[name];
}

/** The code of a contract as it stands on a chain, with its constants. */
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
