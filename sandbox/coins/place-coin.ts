import { type Hex, keccak256, toHex, zeroHash } from 'viem';
import type { RpcCall } from '../chains/evm-node.ts';
import { mintAccount } from '../chains/mint-account.ts';
import type { BridgedToken } from '../chains/tokens.ts';
import { codeOf, slotOf } from '../compiled-contracts.ts';
import { mapped, type StorageWrite, setCode, setStorage, shortString } from '../storage.ts';

const adminRole = zeroHash;
const depositorRole = keccak256(toHex('DEPOSITOR_ROLE'));

/**
 * Puts a token in place that came over Polygon's bridge. It is written without transactions, like the cross-chain protocol, and the
 * mint account is the depositor.
 */
export function placeCoin({ address, contract, name, symbol, decimals }: BridgedToken): RpcCall[] {
  const slot = (variable: string) => slotOf(contract, variable);
  const writes: StorageWrite[] = [
    [slot('name'), shortString(name)],
    [slot('symbol'), shortString(symbol)],
    [slot('decimals'), decimals],
    roleOf(contract, adminRole, mintAccount.address),
    roleOf(contract, depositorRole, mintAccount.address),
  ];
  return [setCode(address, codeOf(contract)), ...writes.map((write) => setStorage(address, write))];
}

/** Lets somebody else be a depositor too, without a transaction. */
export function allowDeposits({ address, contract }: BridgedToken, depositor: Hex): RpcCall {
  return setStorage(address, roleOf(contract, depositorRole, depositor));
}

function roleOf(contract: BridgedToken['contract'], role: Hex, account: Hex): StorageWrite {
  return [mapped(mapped(slotOf(contract, 'hasRole'), role), account), 1];
}
