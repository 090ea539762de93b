import type { Hex } from 'viem';
import type { Asset } from '../money/asset.ts';

/**
 * The tokens that stand for these assets on Polygon, where coins are held wrapped: ETH as WETH, MATIC as WMATIC. None of
 * them is Circle's: DAI and WETH came over Polygon's own bridge, and WMATIC is what whoever pays MATIC in holds.
 */
export const coinTokens = {
  DAI: '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063',
  ETH: '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619',
  MATIC: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
} as const satisfies Record<string, Hex>;

/** What is held beside Circle's own currencies, on the home chain alone. */
export type Coin = keyof typeof coinTokens;

export const coins = Object.keys(coinTokens) as readonly Coin[];

export function isCoin(asset: Asset): asset is Coin {
  return asset in coinTokens;
}
