import { encodeFunctionData, type Hex, keccak256, maxUint256, parseAbi, toHex, zeroHash } from 'viem';
import { mintAccount } from '../accounts.ts';
import { codeOf, mapped, type StorageWrite, setCode, setStorage, shortString, slotOf } from '../compiled-contracts.ts';
import { contractCode, fiatTokenAddress } from './contract-code.ts';
import type { RpcCall } from './evm-node.ts';
import type { BridgedToken, MintedToken, WrappedCoin } from './tokens.ts';

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

const fiatTokenAbi = parseAbi([
  'function initialize(string tokenName, string tokenSymbol, string tokenCurrency, uint8 tokenDecimals, address newMasterMinter, address newPauser, address newBlacklister, address newOwner)',
  'function initializeV2(string newName)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] accountsToBlacklist, string newSymbol)',
  'function configureMinter(address minter, uint256 minterAllowedAmount)',
]);

/** The storage slots of Circle's proxy for its implementation and its admin. */
const implementationSlot = BigInt(keccak256(toHex('org.zeppelinos.proxy.implementation')));
const adminSlot = BigInt(keccak256(toHex('org.zeppelinos.proxy.admin')));
/** The admin can only upgrade the proxy and cannot use the token, so it has an address of its own. */
const proxyAdmin: Hex = '0x5a4d000000000000000000000000000000000003';

/** The storage slots for minters and their allowances. */
const mintersSlot = 12n;
const mintAllowancesSlot = 13n;

/** Circle's token behind its proxy, initialized by transactions of the mint account. */
export function placeMintedToken({ address, name, symbol, currency, decimals }: MintedToken): RpcCall[] {
  const { address: mint } = mintAccount;
  return [
    setCode(address, contractCode().fiatTokenProxy),
    setStorage(address, [implementationSlot, fiatTokenAddress]),
    setStorage(address, [adminSlot, proxyAdmin]),
    ...[
      encodeFunctionData({
        abi: fiatTokenAbi,
        functionName: 'initialize',
        args: [name, symbol, currency, decimals, mint, mint, mint, mint],
      }),
      encodeFunctionData({ abi: fiatTokenAbi, functionName: 'initializeV2', args: [name] }),
      encodeFunctionData({ abi: fiatTokenAbi, functionName: 'initializeV2_1', args: [mint] }),
      encodeFunctionData({ abi: fiatTokenAbi, functionName: 'initializeV2_2', args: [[], symbol] }),
      encodeFunctionData({ abi: fiatTokenAbi, functionName: 'configureMinter', args: [mint, maxUint256] }),
    ].map((data) => ({
      method: 'eth_sendTransaction',
      params: [{ from: mint, to: address, data, gas: toHex(1_000_000) }],
    })),
  ];
}

/** Allows unlimited minting of Circle's token, without a transaction. */
export function allowMinting(token: Hex, minter: Hex): RpcCall[] {
  return [
    setStorage(token, [mapped(mintersSlot, minter), 1]),
    setStorage(token, [mapped(mintAllowancesSlot, minter), maxUint256]),
  ];
}

export function placeWrappedCoin({ address, name, symbol }: WrappedCoin): RpcCall[] {
  return [
    setCode(address, contractCode().wrappedCoin),
    setStorage(address, [0n, shortString(name)]),
    setStorage(address, [1n, shortString(symbol)]),
    setStorage(address, [2n, 18]),
  ];
}
