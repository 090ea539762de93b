import type { Network, Token } from '../chains/network.ts';
import { currency } from '../http/amount-field.ts';

export type DepositToken = Token & { readonly asset: 'USDC' | 'EURC' };

/** The tokens that are credited when they arrive: the currencies that people hold and send, by Circle's own contracts. */
export function depositTokens(network: Network): readonly DepositToken[] {
  return network.tokens.filter((token): token is DepositToken => currency.safeParse(token.asset).success);
}
