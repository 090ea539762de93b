import type { Hex } from 'viem';
import {
  type Asset,
  assetIds,
  assets,
  type ChainFacts,
  type ChainId,
  chainIds,
  chains,
  homeChain,
  isCurrency,
} from '../../src/money/catalogue.ts';

/** Circle issues no EURC on Polygon, so this address is invented. */
export const eurcOnPolygon: Hex = '0xe0c0000000000000000000000000000000000137';

/** Tokens have their real addresses, so that clients with token lists accept them. */
interface Token {
  readonly address: Hex;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly asset: Asset;
}

/** Circle's contract, which the sandbox may mint. */
export interface MintedToken extends Token {
  readonly currency: string;
}

/** A token of Polygon's bridge; the sandbox is its depositor. */
export interface BridgedToken extends Token {
  readonly contract: 'MaticWETH' | 'UChildDAI';
}

/** A wrapped native coin. */
export type WrappedCoin = Token;

/** The home chain's wrapped native coin. */
export const wrappedHomeCoin = assets[chains[homeChain].native].token.symbol;

/** The faucet's assets. MATIC is the native coin, WMATIC the same as a token. */
export type FaucetAsset = Asset | typeof wrappedHomeCoin;

export const faucetCurrencies: readonly FaucetAsset[] = [...assetIds, wrappedHomeCoin];

/** Contracts that differ from the bridge's usual one. */
const ownContracts: Partial<Record<Asset, BridgedToken['contract']>> = { DAI: 'UChildDAI' };

export const mintedTokens = perChain((chain): readonly MintedToken[] =>
  listTokens(chain).flatMap((token) =>
    isCurrency(token.asset) ? [{ ...token, currency: assets[token.asset].currency }] : [],
  ),
);

/** Only Polygon has this bridge. */
const bridged: readonly BridgedToken[] = listTokens(homeChain)
  .filter(({ asset }) => !isCurrency(asset) && asset !== chains[homeChain].native)
  .map((token) => ({ ...token, contract: ownContracts[token.asset] ?? 'MaticWETH' }));

export function bridgedTokens(chain: ChainId): readonly BridgedToken[] {
  return chain === homeChain ? bridged : [];
}

export const wrappedCoins = perChain((chain): WrappedCoin => {
  const found = listTokens(chain).find(({ asset }) => asset === chains[chain].native);
  if (found === undefined) throw new Error(`the catalogue has no wrapped ${chains[chain].native} on ${chain}`);
  return found;
});

export function tokensOf(chain: ChainId): readonly Token[] {
  return [...mintedTokens[chain], ...bridgedTokens(chain), wrappedCoins[chain]];
}

/** The faucet's names: the service's asset names and the native coin's own. */
export function faucetAssets(chain: ChainId): readonly FaucetAsset[] {
  return [
    ...[...mintedTokens[chain], ...bridgedTokens(chain)].map(({ asset }) => asset),
    chains[chain].native,
    ...(chain === homeChain ? [wrappedHomeCoin] : []),
  ];
}

function listTokens(chain: ChainId): readonly Token[] {
  const { tokens }: ChainFacts = chains[chain];
  const addresses = chain === homeChain ? { ...tokens, EURC: eurcOnPolygon } : tokens;
  return assetIds.flatMap((asset) => {
    const address = addresses[asset];
    const { token, decimals } = assets[asset];
    return address === undefined ? [] : [{ ...token, address, decimals, asset }];
  });
}

function perChain<Value>(of: (chain: ChainId) => Value): Readonly<Record<ChainId, Value>> {
  return Object.fromEntries(chainIds.map((id) => [id, of(id)])) as Record<ChainId, Value>;
}
