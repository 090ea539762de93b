import { randomBytes } from 'node:crypto';
import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  pad,
  parseAbi,
  parseSignature,
  toEventSelector,
  toHex,
} from 'viem';
import { mintAccount } from '../../sandbox/accounts.ts';
import { multicallAbi, multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { readTokenDomain, type SignedAuthorization, toTypedData } from '../../src/chains/authorization.ts';
import { cctp } from '../../src/chains/cctp.ts';
import { tokenOf } from '../../src/chains/network.ts';
import { type ChainId, homeChain } from '../../src/money/catalogue.ts';
import type { Outsider, TestChains } from './chains.ts';

/** One call of a transaction that makes several. */
export interface Call {
  readonly target: Hex;
  readonly callData: Hex;
}

export function usdcOn(chains: TestChains, chain: ChainId = homeChain): Hex {
  const token = tokenOf(chains.network(chain), 'USDC');
  if (token === undefined) throw new Error(`there is no USDC on ${chain}`);
  return token.address;
}

/** An outsider's permission to move USDC of theirs, which anybody may submit. */
export async function authorize(
  chains: TestChains,
  signer: Outsider,
  { to, atomic, nonce = toHex(randomBytes(32)) }: { readonly to: Hex; readonly atomic: bigint; readonly nonce?: Hex },
): Promise<SignedAuthorization> {
  const network = chains.network(homeChain);
  const { timestamp } = await network.client.getBlock();
  const authorization = { from: signer.address, to, atomic, nonce, validBefore: timestamp + 86_400n };
  const domain = await readTokenDomain(network, usdcOn(chains));
  const signature = await signer
    .wallet()
    .signTypedData({ ...toTypedData(domain, authorization), account: signer.account });
  return { ...authorization, signature };
}

export function submission(chains: TestChains, authorization: SignedAuthorization): Call {
  const { from, to, atomic, validBefore, nonce, signature } = authorization;
  const { r, s, yParity } = parseSignature(signature);
  return {
    target: usdcOn(chains),
    callData: encodeFunctionData({
      abi: tokenAbi,
      functionName: 'transferWithAuthorization',
      args: [from, to, atomic, 0n, validBefore, nonce, yParity + 27, r, s],
    }),
  };
}

export function encodeCalls(calls: readonly Call[]): Hex {
  const args = calls.map((call) => ({ ...call, allowFailure: false }));
  return encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [args] });
}

/** Makes all calls in one transaction. */
export function callAtOnce(sender: Outsider, calls: readonly Call[]): Promise<Hex> {
  return sender.wallet().sendTransaction({
    account: sender.account,
    chain: sender.wallet().chain ?? null,
    to: multicallAddress,
    data: encodeCalls(calls),
  });
}

/**
 * The code of a contract that delivers every message that it is told of, as Circle's transmitter does with one that is
 * attested: called with a nonce and the rest of the event, it emits MessageReceived.
 */
const transmitterCode: Hex = concat([
  '0x60203603', // How long the rest is,
  '0x8060206000', // all of it
  '0x37', // into memory,
  '0x6107d0600035', // that it was final, and the nonce,
  '0x33', // the caller,
  '0x7f',
  toEventSelector('MessageReceived(address,uint32,bytes32,bytes32,uint32,bytes)'),
  '0x846000a400', // and the event.
]);

/** Puts a transmitter where Circle's is, and lets a transaction of several calls mint, as Circle's contracts may. */
export async function placeTransmitter(chains: TestChains): Promise<void> {
  await chains.rpc(homeChain, 'hardhat_setCode', [cctp.messageTransmitter, transmitterCode]);
  await chains.rpc(homeChain, 'hardhat_impersonateAccount', [mintAccount.address]);
  const abi = parseAbi(['function configureMinter(address minter, uint256 minterAllowedAmount)']);
  const data = encodeFunctionData({ abi, args: [multicallAddress, 10n ** 18n] });
  await chains.rpc(homeChain, 'eth_sendTransaction', [{ from: mintAccount.address, to: usdcOn(chains), data }]);
  await chains.rpc(homeChain, 'hardhat_stopImpersonatingAccount', [mintAccount.address]);
}

export interface TestMessage {
  readonly sourceDomain: number;
  readonly nonce: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** What a message does when it is delivered: its money is minted, and then it is told that it was received. */
export function delivery(chains: TestChains, { sourceDomain, nonce, to, atomic }: TestMessage): Call[] {
  const abi = parseAbi(['function mint(address to, uint256 amount) returns (bool)']);
  const words = [pad(usdcOn(chains)), pad(to), pad(toHex(atomic)), pad('0x'), pad('0x'), pad('0x'), pad('0x')];
  const event = encodeAbiParameters(
    [{ type: 'uint32' }, { type: 'bytes32' }, { type: 'bytes' }],
    [sourceDomain, pad('0x'), concat([toHex(1, { size: 4 }), ...words])],
  );
  return [
    { target: usdcOn(chains), callData: encodeFunctionData({ abi, args: [to, atomic] }) },
    { target: cctp.messageTransmitter, callData: concat([nonce, event]) },
  ];
}
