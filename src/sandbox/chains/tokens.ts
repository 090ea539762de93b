import type { Hex } from 'viem';
import { type ChainId, chains } from '../../chains/chains.ts';
import { coinTokens } from '../../chains/coins.ts';
import { type Asset, assets } from '../../money/asset.ts';

/** Circle issues none on Polygon, so this address is our own invention. */
export const eurcOnPolygon: Hex = '0xe0c0000000000000000000000000000000000137';

interface Token {
  readonly address: Hex;
  readonly name: string;
  readonly symbol: string;
}

/** Circle's contract: the sandbox may mint it. */
export interface MintedToken extends Token {
  readonly currency: string;
  readonly decimals: number;
  /** What the service calls it. */
  readonly asset: Asset;
}

/** A token that came over Polygon's bridge: the sandbox is its depositor. */
export interface BridgedToken extends Token {
  readonly contract: 'MaticWETH' | 'UChildDAI';
  readonly decimals: number;
  /** What the service calls it. */
  readonly asset: Asset;
}

/** Native coin in a token's clothes: whoever pays native coin in holds it. */
export type WrappedCoin = Token;

/** What the faucet hands out. MATIC is the coin that gas is paid in, and WMATIC the same as a token. */
export type FaucetAsset = Asset | 'WMATIC';

export const faucetCurrencies: readonly FaucetAsset[] = [...assets, 'WMATIC'];

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
  MATIC: [usdc(chains.MATIC.tokens.USDC), eurc(eurcOnPolygon)],
  ETH: [usdc(chains.ETH.tokens.USDC), eurc(chains.ETH.tokens.EURC)],
  ARB: [usdc(chains.ARB.tokens.USDC)],
  BASE: [usdc(chains.BASE.tokens.USDC), eurc(chains.BASE.tokens.EURC)],
  AVAX: [usdc(chains.AVAX.tokens.USDC), eurc(chains.AVAX.tokens.EURC)],
  OP: [usdc(chains.OP.tokens.USDC)],
};

/** Only Polygon has a bridge of this kind. */
const bridged: readonly BridgedToken[] = [
  {
    address: coinTokens.DAI,
    contract: 'UChildDAI',
    name: '(PoS) Dai Stablecoin',
    symbol: 'DAI',
    decimals: 18,
    asset: 'DAI',
  },
  { address: coinTokens.ETH, contract: 'MaticWETH', ...wrappedEther, decimals: 18, asset: 'ETH' },
];

export function bridgedTokens(chain: ChainId): readonly BridgedToken[] {
  return chain === 'MATIC' ? bridged : [];
}

export const wrappedCoins: Readonly<Record<ChainId, WrappedCoin>> = {
  MATIC: { address: coinTokens.MATIC, name: 'Wrapped Matic', symbol: 'WMATIC' },
  ETH: { address: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', ...wrappedEther },
  ARB: { address: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', ...wrappedEther },
  BASE: { address: '0x4200000000000000000000000000000000000006', ...wrappedEther },
  AVAX: { address: '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7', name: 'Wrapped AVAX', symbol: 'WAVAX' },
  OP: { address: '0x4200000000000000000000000000000000000006', ...wrappedEther },
};

/** Every token of a chain by its own symbol. */
export function tokensOf(chain: ChainId): readonly Token[] {
  return [...mintedTokens[chain], ...bridgedTokens(chain), wrappedCoins[chain]];
}

/** How a person asks for it at the faucet: by the service's names, and by the native coin's own. */
export function faucetAssets(chain: ChainId): readonly FaucetAsset[] {
  return [
    ...[...mintedTokens[chain], ...bridgedTokens(chain)].map(({ asset }) => asset),
    chains[chain].native,
    ...(chain === 'MATIC' ? (['WMATIC'] as const) : []),
  ];
}
