import {
  domainSeparator,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseSignature,
  type TypedDataDefinition,
  type TypedDataDomain,
} from 'viem';
import { chains } from '../money/catalogue.ts';
import { multicallAbi, tokenAbi } from './abi.ts';
import type { Network } from './network.ts';

/** An EIP-3009 authorization to move a wallet's tokens. Anyone may submit it; the token accepts it once. */
export interface Authorization {
  readonly from: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
  readonly nonce: Hex;
  /** In seconds since the epoch, exclusive. Left out, the authorization is valid from the start. */
  readonly validAfter?: bigint;
  /** In seconds since the epoch, exclusive, compared with the block's timestamp. */
  readonly validBefore: bigint;
}

export interface SignedAuthorization extends Authorization {
  readonly signature: Hex;
}

const separatorAbi = parseAbi(['function DOMAIN_SEPARATOR() view returns (bytes32)']);

/** The EIP-712 domain of a token, read from its contract. */
export async function readTokenDomain({ id, client }: Network, token: Hex): Promise<TypedDataDomain> {
  const contract = { address: token, abi: tokenAbi } as const;
  const [name, version, separator] = await Promise.all([
    client.readContract({ ...contract, functionName: 'name' }),
    client.readContract({ ...contract, functionName: 'version' }),
    client.readContract({ address: token, abi: separatorAbi, functionName: 'DOMAIN_SEPARATOR' }),
  ]);
  const domain = { name, version, chainId: chains[id].chainId, verifyingContract: token };
  if (domainSeparator({ domain }) !== separator) {
    throw new Error(`the token ${token} on ${id} does not bind signatures to its name, version, chain and address`);
  }
  return domain;
}

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

export function toTypedData(
  domain: TypedDataDomain,
  { from, to, atomic, nonce, validAfter = 0n, validBefore }: Authorization,
): TypedDataDefinition {
  const message = { from, to, value: atomic, validAfter, validBefore, nonce };
  return { domain, types, primaryType: 'TransferWithAuthorization', message } as TypedDataDefinition;
}

/**
 * One multicall that submits all authorizations; one that fails does not affect the others. The last call must not
 * fail, which makes the gas estimate leave enough for every transfer: one that runs out of gas would leave too little
 * for the call at the end.
 */
export function encodeSubmission(token: Hex, authorizations: readonly SignedAuthorization[]): Hex {
  const [first] = authorizations;
  if (first === undefined) throw new Error('no authorization to submit');
  const transfers = authorizations.map((authorization) => ({
    target: token,
    allowFailure: true,
    callData: encodeTransfer(authorization),
  }));
  const balance = encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [first.to] });
  return encodeFunctionData({
    abi: multicallAbi,
    functionName: 'aggregate3',
    args: [[...transfers, { target: token, allowFailure: false, callData: balance }]],
  });
}

function encodeTransfer(authorization: SignedAuthorization): Hex {
  const { from, to, atomic, validAfter = 0n, validBefore, nonce, signature } = authorization;
  const { r, s, yParity } = parseSignature(signature);
  return encodeFunctionData({
    abi: tokenAbi,
    functionName: 'transferWithAuthorization',
    args: [from, to, atomic, validAfter, validBefore, nonce, yParity + 27, r, s],
  });
}

/** The state of an authorization as of a final block. */
export type Fate = 'moved' | 'lapsed' | 'open';

/**
 * Used means moved: only the wallet itself could have cancelled it, and ours never do. An authorization that is unused
 * in a final block at or after `validBefore` can never be used, because block times only rise. Otherwise it is open:
 * signing another one now could move the money twice.
 */
export function fateOf(
  { validBefore }: Pick<Authorization, 'validBefore'>,
  at: { readonly used: boolean; readonly blockTime: bigint },
): Fate {
  if (at.used) return 'moved';
  return at.blockTime >= validBefore ? 'lapsed' : 'open';
}

export function isValidAt(
  { validAfter = 0n, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  blockTime: bigint,
): boolean {
  return validAfter < blockTime && blockTime < validBefore;
}

export async function readUsed(
  { client }: Network,
  token: Hex,
  authorizations: readonly Pick<Authorization, 'from' | 'nonce'>[],
  blockNumber: bigint,
): Promise<readonly boolean[]> {
  return client.multicall({
    allowFailure: false,
    blockNumber,
    contracts: authorizations.map(({ from, nonce }) => ({
      address: token,
      abi: tokenAbi,
      functionName: 'authorizationState' as const,
      args: [from, nonce] as const,
    })),
  });
}
