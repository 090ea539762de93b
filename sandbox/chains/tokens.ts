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

/** Circle issues none on Polygon, so this address is our own invention. */
export const eurcOnPolygon: Hex = '0xe0c0000000000000000000000000000000000137';

/** Every token stands at its real address, so that clients with a list of known tokens accept it. */
interface Token {
  readonly address: Hex;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** What the service calls it. */
  readonly asset: Asset;
}

/** Circle's contract: the sandbox may mint it. */
export interface MintedToken extends Token {
  readonly currency: string;
}

/** A token that came over Polygon's bridge: the sandbox is its depositor. */
export interface BridgedToken extends Token {
  readonly contract: 'MaticWETH' | 'UChildDAI';
}

/** Native coin in a token's clothes: whoever pays native coin in holds it. */
export type WrappedCoin = Token;

/** The home chain's native coin as a token. */
export const wrappedHomeCoin = assets[chains[homeChain].native].token.symbol;

/** What the faucet hands out. MATIC is the coin that gas is paid in, and WMATIC the same as a token. */
export type FaucetAsset = Asset | typeof wrappedHomeCoin;

export const faucetCurrencies: readonly FaucetAsset[] = [...assetIds, wrappedHomeCoin];

/** The contracts that differ from those of other tokens of the bridge. */
const ownContracts: Partial<Record<Asset, BridgedToken['contract']>> = { DAI: 'UChildDAI' };

export const mintedTokens = perChain((chain): readonly MintedToken[] =>
  listTokens(chain).flatMap((token) =>
    isCurrency(token.asset) ? [{ ...token, currency: assets[token.asset].currency }] : [],
  ),
);

/** Only Polygon has a bridge of this kind. */
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

/** Every token of a chain by its own symbol. */
export function tokensOf(chain: ChainId): readonly Token[] {
  return [...mintedTokens[chain], ...bridgedTokens(chain), wrappedCoins[chain]];
}

/** How a person asks for it at the faucet: by the service's names, and by the native coin's own. */
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
