import { type Hex, keccak256, toHex, zeroHash } from 'viem';
import type { RpcCall } from '../chains/evm-node.ts';
import { mintAccount } from '../chains/mint-account.ts';
import type { BridgedToken } from '../chains/tokens.ts';
import { codeOf, slotOf } from '../compiled-contracts.ts';
import { mapped, type StorageWrite, setCode, setStorage, shortString } from '../storage.ts';

const adminRole = zeroHash;
const depositorRole = keccak256(toHex('DEPOSITOR_ROLE'));

/** Places a token of Polygon's bridge. Like CCTP it is written without transactions; the mint account is its depositor. */
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

/** Adds another depositor, without a transaction. */
export function allowDeposits({ address, contract }: BridgedToken, depositor: Hex): RpcCall {
  return setStorage(address, roleOf(contract, depositorRole, depositor));
}

function roleOf(contract: BridgedToken['contract'], role: Hex, account: Hex): StorageWrite {
  return [mapped(mapped(slotOf(contract, 'hasRole'), role), account), 1];
}
