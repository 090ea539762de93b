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

/** A wallet's permission (EIP-3009) to move its tokens, which anybody may submit and which the token accepts only once. */
export interface Authorization {
  readonly from: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
  readonly nonce: Hex;
  /** In seconds since the epoch: the token accepts it only after it. Left out, it is accepted from the beginning. */
  readonly validAfter?: bigint;
  /** In seconds since the epoch, by the time of the chain's blocks: at or after it the token accepts it no more. */
  readonly validBefore: bigint;
}

export interface SignedAuthorization extends Authorization {
  readonly signature: Hex;
}

const separatorAbi = parseAbi(['function DOMAIN_SEPARATOR() view returns (bytes32)']);

/** What a token's signatures are bound to, as the contract itself names it. */
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
 * One call that submits all authorizations. One that fails takes no other with it. The last call is not allowed to fail:
 * whoever estimates the gas for the whole must then leave enough for each, because a transfer that ran out of gas would
 * leave too little for what comes after it.
 */
export function encodeSubmission(token: Hex, authorizations: readonly SignedAuthorization[]): Hex {
  const [first] = authorizations;
  if (first === undefined) throw new Error('there is nothing to submit');
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

/** What has become of an authorization, at a block that is final. */
export type Fate = 'moved' | 'lapsed' | 'open';

/**
 * Used means moved: nobody but the wallet could have cancelled it, and we never do. Unused in a final block whose time has
 * reached its end means that it never will be used, because no later block has an earlier time. Anything else is open:
 * giving up on it now and signing another would let both move money.
 */
export function judge(
  { validBefore }: Pick<Authorization, 'validBefore'>,
  at: { readonly used: boolean; readonly blockTime: bigint },
): Fate {
  if (at.used) return 'moved';
  return at.blockTime >= validBefore ? 'lapsed' : 'open';
}

/** Whether a token accepts it in a block of this time, as far as its dates go. */
export function isValidAt(
  { validAfter = 0n, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  blockTime: bigint,
): boolean {
  return validAfter < blockTime && blockTime < validBefore;
}

/** Whether each authorization was used, as of a block. */
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
