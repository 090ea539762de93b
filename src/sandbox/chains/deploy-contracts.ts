import { encodeFunctionData, type Hex, keccak256, maxUint256, pad, parseAbi, stringToHex, toHex } from 'viem';
import { multicallAddress } from '../../chains/abi.ts';
import { cctp } from '../../chains/cctp.ts';
import { chains } from '../../chains/chains.ts';
import { placeCctp } from '../cctp/place-contracts.ts';
import { contractCode, fiatTokenAddress, signatureCheckerAddress } from './contract-code.ts';
import type { RpcCall } from './evm-node.ts';
import type { LocalChain } from './local-chain.ts';
import { mintAccount } from './mint-account.ts';
import { type MintedToken, mintedTokens, type WrappedCoin, wrappedCoins } from './tokens.ts';

const fiatTokenAbi = parseAbi([
  'function initialize(string tokenName, string tokenSymbol, string tokenCurrency, uint8 tokenDecimals, address newMasterMinter, address newPauser, address newBlacklister, address newOwner)',
  'function initializeV2(string newName)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] accountsToBlacklist, string newSymbol)',
  'function configureMinter(address minter, uint256 minterAllowedAmount)',
]);

const isMinterAbi = parseAbi(['function isMinter(address account) view returns (bool)']);

/** Where Circle's proxy keeps who it stands for and who may change that. */
const implementationSlot = keccak256(toHex('org.zeppelinos.proxy.implementation'));
const adminSlot = keccak256(toHex('org.zeppelinos.proxy.admin'));
/** It may only change the proxy and never use it, so it must be nobody else. */
const proxyAdmin: Hex = '0x5a4d000000000000000000000000000000000003';

/** Puts every contract in its place that is not there yet, so that a later release can add some. */
export async function deployContracts(chain: LocalChain): Promise<void> {
  const calls: RpcCall[] = [];
  const isMissing = async (address: Hex) => (await ask<Hex>(chain, 'eth_getCode', [address, 'latest'])) === '0x';
  if (await isMissing(multicallAddress)) {
    const code = await ask<Hex>(chain, 'eth_call', [{ data: contractCode().multicallCreation }, 'latest']);
    calls.push(setCode(multicallAddress, code));
  }
  if (await isMissing(signatureCheckerAddress)) {
    calls.push(setCode(signatureCheckerAddress, contractCode().signatureChecker));
  }
  if (await isMissing(fiatTokenAddress)) calls.push(setCode(fiatTokenAddress, contractCode().fiatToken));
  const coin = wrappedCoins[chain.id];
  if (await isMissing(coin.address)) calls.push(...placeWrappedCoin(coin));
  for (const token of mintedTokens[chain.id]) {
    if (await isMissing(token.address)) calls.push(...placeMintedToken(token));
  }
  for (const [address, place] of placeCctp(chain.id)) {
    if (await isMissing(address)) calls.push(...place());
  }
  if (calls.length === 0) return;

  const outcomes = await chain.requestAll([
    { method: 'hardhat_impersonateAccount', params: [mintAccount.address] },
    ...calls,
    { method: 'hardhat_stopImpersonatingAccount', params: [mintAccount.address] },
  ]);
  for (const outcome of outcomes) {
    if ('error' in outcome) throw new Error(`a contract could not be placed on ${chain.id}: ${outcome.error.message}`);
  }
  for (const token of mintedTokens[chain.id]) {
    const data = encodeFunctionData({ abi: parseAbi(['function decimals() view returns (uint8)']) });
    const decimals = await ask<Hex>(chain, 'eth_call', [{ to: token.address, data }, 'latest']);
    if (Number(decimals) !== token.decimals) throw new Error(`${token.symbol} on ${chain.id} was not set up`);
  }
  const isMinter = encodeFunctionData({ abi: isMinterAbi, args: [cctp.tokenMinter] });
  const mayMint = await ask<Hex>(chain, 'eth_call', [{ to: chains[chain.id].tokens.USDC, data: isMinter }, 'latest']);
  if (BigInt(mayMint) !== 1n) throw new Error(`the cross-chain protocol cannot mint on ${chain.id}`);
}

function placeMintedToken({ address, name, symbol, currency, decimals }: MintedToken): RpcCall[] {
  const { address: mint } = mintAccount;
  return [
    setCode(address, contractCode().fiatTokenProxy),
    setStorage(address, implementationSlot, pad(fiatTokenAddress)),
    setStorage(address, adminSlot, pad(proxyAdmin)),
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

function placeWrappedCoin({ address, name, symbol }: WrappedCoin): RpcCall[] {
  return [
    setCode(address, contractCode().wrappedCoin),
    setStorage(address, toHex(0), shortString(name)),
    setStorage(address, toHex(1), shortString(symbol)),
    setStorage(address, toHex(2), pad(toHex(18))),
  ];
}

/** As the compiler stores text of at most 31 bytes: the bytes from the left, twice the length at the end. */
function shortString(text: string): Hex {
  const bytes = stringToHex(text, { size: 32 });
  return `${bytes.slice(0, -2)}${(text.length * 2).toString(16).padStart(2, '0')}` as Hex;
}

function setCode(address: Hex, code: Hex): RpcCall {
  return { method: 'hardhat_setCode', params: [address, code] };
}

function setStorage(address: Hex, slot: Hex, value: Hex): RpcCall {
  return { method: 'hardhat_setStorageAt', params: [address, slot, value] };
}

async function ask<Result>(chain: LocalChain, method: string, params: readonly unknown[]): Promise<Result> {
  const outcome = await chain.request({ method, params });
  if ('error' in outcome) throw new Error(`${method} on ${chain.id}: ${outcome.error.message}`);
  return outcome.result as Result;
}
