import { type Coin, coins } from '../../money/catalogue.ts';

export type SwapToken = 'USDC' | Coin;

/** By their common names, although coins are held wrapped. */
export const swapTokens: readonly SwapToken[] = ['USDC', ...coins];

const names: ReadonlySet<string> = new Set(swapTokens);

export function isSwapToken(text: string): text is SwapToken {
  return names.has(text);
}
