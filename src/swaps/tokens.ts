import type { Asset } from '../money/asset.ts';

/** What can be swapped for one another, by the names that people use: coins are held wrapped. */
export const swapTokens = ['USDC', 'ETH', 'MATIC', 'DAI'] as const satisfies readonly Asset[];

export type SwapToken = (typeof swapTokens)[number];

export function isSwapToken(text: string): text is SwapToken {
  return (swapTokens as readonly string[]).includes(text);
}
