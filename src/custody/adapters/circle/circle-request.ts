import {
  formatEther,
  formatUnits,
  getAddress,
  getTypesForEIP712Domain,
  type Hex,
  parseSignature,
  serializeSignature,
  serializeTypedData,
  type TypedDataDefinition,
} from 'viem';
import type { Networks } from '../../../chains/network.ts';
import { uuidFrom } from '../../../kernel/ids/ids.ts';
import { assets } from '../../../money/catalogue.ts';
import { type ContractCall, ProviderError, type TokenSend } from '../../wallets/provider.ts';

const versionFour = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Circle requires UUID version 4. Any other UUID maps to the same version 4 every time, so that a stored key still
 * names the request.
 */
export function requestKey(idempotencyKey: string): string {
  const key = idempotencyKey.toLowerCase();
  if (versionFour.test(key)) return key;
  return uuidFrom(`circle:${key}`);
}

/** A request in Circle's terms: amounts are decimal text, and native coin is sent like a token. */
export type CircleRequest =
  | {
      readonly operation: 'TRANSFER';
      /** Empty for native coin. */
      readonly tokenAddress: Hex | '';
      readonly to: Hex;
      readonly amount: string;
    }
  | {
      readonly operation: 'CONTRACT_EXECUTION';
      readonly contract: Hex;
      readonly data: Hex;
      /** Native coin sent along. */
      readonly amount: string;
    };

export function toCircleRequest(networks: Networks, asked: TokenSend | ContractCall): CircleRequest {
  if ('token' in asked) {
    const amount = formatUnits(asked.atomic, decimalsOfToken(networks, asked));
    return { operation: 'TRANSFER', tokenAddress: asked.token, to: asked.to, amount };
  }
  const { contract, data, value = 0n } = asked;
  const amount = formatEther(value);
  // Without data it is a transfer of native coin.
  if (data === '0x') return { operation: 'TRANSFER', tokenAddress: '', to: contract, amount };
  return { operation: 'CONTRACT_EXECUTION', contract, data, amount };
}

/** Circle takes decimal amounts, so we need the token's decimals. */
function decimalsOfToken(networks: Networks, { from, token }: Pick<TokenSend, 'from' | 'token'>): number {
  const known = networks.get(from.chain)?.tokens.find(({ address }) => getAddress(address) === getAddress(token));
  if (known !== undefined) return assets[known.asset].decimals;
  throw new ProviderError(`${token} is not a configured token on ${from.chain}.`, {
    retryable: false,
    code: 'unknown_token',
  });
}

/** Circle reads typed data as JSON that includes the domain's own type. */
export function toTypedDataText({ domain = {}, types, primaryType, message }: TypedDataDefinition): string {
  return serializeTypedData({
    domain: { ...domain, ...(domain.chainId !== undefined && { chainId: Number(domain.chainId) }) },
    types: { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types },
    primaryType,
    message,
  } as TypedDataDefinition);
}

/** Token contracts expect 27 or 28 as the last byte, not the 0 or 1 of some signers. */
export function toContractSignature(signature: Hex): Hex {
  return serializeSignature(parseSignature(signature));
}
