import type { Hex } from 'viem';
import { type ChainId, chains } from '../../chains/chains.ts';
import { coinTokens } from '../../chains/coins.ts';
import type { Asset } from '../../money/asset.ts';

/** Circle issues none on Polygon, so this address is our own invention. */
export const eurcOnPolygon: Hex = '0xe0c0000000000000000000000000000000000137';

/** A token that the sandbox mints: Circle's contract, whatever it is called. */
export interface MintedToken {
  readonly address: Hex;
  readonly name: string;
  readonly symbol: string;
  readonly currency: string;
  readonly decimals: number;
  /** What the service calls it. */
  readonly asset: Asset;
}

/** Native coin in a token's clothes: whoever pays native coin in holds it. */
export interface WrappedCoin {
  readonly address: Hex;
  readonly name: string;
  readonly symbol: string;
}

const usdc = (address: Hex): MintedToken => ({
  address,
  name: 'USD Coin',
  symbol: 'USDC',
  currency: 'USD',
  decimals: 6,
  asset: 'USDC',
});

const eurc = (address: Hex): MintedToken => ({
  address,
  name: 'Euro Coin',
  symbol: 'EURC',
  currency: 'EUR',
  decimals: 6,
  asset: 'EURC',
});

const wrappedEther = { name: 'Wrapped Ether', symbol: 'WETH' };

/** Every token stands at its real address, so that clients with a list of known tokens accept it. */
export const mintedTokens: Readonly<Record<ChainId, readonly MintedToken[]>> = {
  MATIC: [
    usdc(chains.MATIC.tokens.USDC),
    eurc(eurcOnPolygon),
    {
      address: coinTokens.DAI,
      name: 'Dai Stablecoin',
      symbol: 'DAI',
      currency: 'USD',
      decimals: 18,
      asset: 'DAI',
    },
    {
      address: coinTokens.ETH,
      ...wrappedEther,
      currency: 'ETH',
      decimals: 18,
      asset: 'ETH',
    },
  ],
  ETH: [usdc(chains.ETH.tokens.USDC), eurc(chains.ETH.tokens.EURC)],
  ARB: [usdc(chains.ARB.tokens.USDC)],
  BASE: [usdc(chains.BASE.tokens.USDC), eurc(chains.BASE.tokens.EURC)],
  AVAX: [usdc(chains.AVAX.tokens.USDC), eurc(chains.AVAX.tokens.EURC)],
  OP: [usdc(chains.OP.tokens.USDC)],
};

export const wrappedCoins: Readonly<Record<ChainId, WrappedCoin>> = {
  MATIC: { address: coinTokens.MATIC, name: 'Wrapped Matic', symbol: 'WMATIC' },
  ETH: { address: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', ...wrappedEther },
  ARB: { address: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', ...wrappedEther },
  BASE: { address: '0x4200000000000000000000000000000000000006', ...wrappedEther },
  AVAX: { address: '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7', name: 'Wrapped AVAX', symbol: 'WAVAX' },
  OP: { address: '0x4200000000000000000000000000000000000006', ...wrappedEther },
};

/** How a person asks for it at the faucet: by the service's names, and by the native coin's own. */
export function faucetAssets(chain: ChainId): readonly Asset[] {
  return [...mintedTokens[chain].map(({ asset }) => asset), chains[chain].native];
}

export function mintedToken(chain: ChainId, asset: Asset): MintedToken | undefined {
  return mintedTokens[chain].find((token) => token.asset === asset);
}
