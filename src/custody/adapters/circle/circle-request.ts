import { formatEther, formatUnits, getAddress, type Hex } from 'viem';
import type { Networks } from '../../../chains/network.ts';
import { assets } from '../../../money/catalogue.ts';
import { type ContractCall, ProviderError, type TokenSend } from '../../wallets/provider.ts';

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
