import type { Network, Token } from '../../chains/network.ts';
import { type Holding, isHolding } from '../../money/catalogue.ts';

export type DepositToken = Token & { readonly asset: Holding };

/** The tokens that are credited when they arrive. */
export function depositTokens(network: Network): readonly DepositToken[] {
  return network.tokens.filter((token): token is DepositToken => isHolding(token.asset));
}
