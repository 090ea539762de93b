/**
 * All assets and chains, and the tokens that represent each asset on each chain. Everything else derives from these two
 * tables: types, account numbers, settings, limits, schemas and their examples, the sandbox. `docs/adding-a-chain.md`
 * and `docs/adding-a-coin.md` add a row. Amounts are decimal text.
 */

type Address = `0x${string}`;

interface AssetFacts {
  /** Part of every account number, from 1 to 15. A code never changes, and a retired one is never reused. */
  readonly code: number;
  readonly decimals: number;
  /** As its contracts name themselves. Coins are held wrapped: ETH as WETH. */
  readonly token: { readonly symbol: string; readonly name: string };
  /** The currency that one unit represents. People send currencies to one another; every other asset is a coin. */
  readonly currency?: string;
  /**
   * In whole USDC, an upper bound that was never reached. Used where the market price would come from the node in
   * doubt.
   */
  readonly worthAtMost: bigint;
  /** The most that an owner gives up when closing an account: roughly what is too little to withdraw. */
  readonly forfeitable: string;
  /** In whole USDC, the price for charging gas. Only for coins that the market on the home chain does not trade. */
  readonly gasPrice?: number;
  /** Liquid enough that swaps between two other assets may be routed through it. */
  readonly isHub?: true;
  /** The sandbox's market: the price in USDC, and the pools by other asset and fee in millionths. */
  readonly sandbox?: {
    readonly price: string;
    readonly pools: readonly { readonly against: string; readonly fee: 100 | 500 | 3000 }[];
  };
}

export const assets = {
  USDC: {
    code: 1,
    decimals: 6,
    token: { symbol: 'USDC', name: 'USD Coin' },
    currency: 'USD',
    worthAtMost: 1n,
    forfeitable: '1',
    isHub: true,
  },
  EURC: {
    code: 2,
    decimals: 6,
    token: { symbol: 'EURC', name: 'Euro Coin' },
    currency: 'EUR',
    worthAtMost: 1n,
    forfeitable: '1',
  },
  DAI: {
    code: 3,
    decimals: 18,
    token: { symbol: 'DAI', name: '(PoS) Dai Stablecoin' },
    worthAtMost: 1n,
    forfeitable: '1',
    isHub: true,
    // No pool with MATIC, so that the sandbox has a pair that needs a route through another asset.
    sandbox: {
      price: '1',
      pools: [
        { against: 'USDC', fee: 100 },
        { against: 'ETH', fee: 3000 },
      ],
    },
  },
  ETH: {
    code: 4,
    decimals: 18,
    token: { symbol: 'WETH', name: 'Wrapped Ether' },
    worthAtMost: 10_000n,
    forfeitable: '0.0005',
    isHub: true,
    // As on the real chain: the deepest pool has the lower fee, with a dearer one beside it.
    sandbox: {
      price: '3000',
      pools: [
        { against: 'USDC', fee: 500 },
        { against: 'USDC', fee: 3000 },
      ],
    },
  },
  MATIC: {
    code: 5,
    decimals: 18,
    token: { symbol: 'WMATIC', name: 'Wrapped Matic' },
    worthAtMost: 3n,
    forfeitable: '1',
    isHub: true,
    sandbox: {
      price: '0.5',
      pools: [
        { against: 'USDC', fee: 500 },
        { against: 'ETH', fee: 500 },
      ],
    },
  },
  AVAX: {
    code: 6,
    decimals: 18,
    token: { symbol: 'WAVAX', name: 'Wrapped AVAX' },
    worthAtMost: 150n,
    forfeitable: '0.05',
    gasPrice: 50,
  },
} as const satisfies Record<string, AssetFacts>;

export type Asset = keyof typeof assets;

export interface ChainFacts {
  /** Part of every account number, from 1 to 15. A code never changes, and a retired one is never reused. */
  readonly code: number;
  readonly name: string;
  /** Other names that operators use for it in settings. */
  readonly alsoCalled?: readonly string[];
  /** EIP-155. */
  readonly chainId: number;
  readonly domain: number;
  /** Its name in x402 version 1. Version 2 uses the chain id. */
  readonly x402: string;
  readonly explorer: string;
  /** The coin that gas is paid in. */
  readonly native: Asset;
  /** Blocks, counting its own, after which a transaction counts as final. */
  readonly confirmations: number;
  /**
   * A rollup's blocks are final only once Ethereum has them: until then its sequencer may take them back. Each kind
   * reports the cost of a byte on Ethereum in its own way.
   */
  readonly rollup?: 'arbitrum' | 'optimism';
  /**
   * In gwei per unit of gas, well above the chain's worst hours. The tip has a limit of its own, because it is paid in
   * full.
   */
  readonly gasCeiling: { readonly fee: string; readonly tip: string };
  /** In native coin, enough for about a hundred transactions at busy times: below it a house wallet soon cannot pay. */
  readonly gasAlarm: string;
  /** The smallest deposit, in USDC, that is worth the gas of bringing it to the home chain. */
  readonly carryHomeFrom: string;
  /** The usual duration of a bridge transfer from it, mostly the chain's finality. */
  readonly bridgeTime: string;
  /**
   * Circle's own USDC and EURC, never bridged ones; Circle issues no EURC on Polygon, Arbitrum and Optimism. Coins are
   * accepted on the home chain only; elsewhere only the wrapped native coin is listed.
   */
  readonly tokens: { readonly USDC: Address } & { readonly [Held in Asset]?: Address };
}

export const chains = {
  MATIC: {
    code: 1,
    name: 'Polygon',
    alsoCalled: ['POL'],
    chainId: 137,
    domain: 7,
    x402: 'polygon',
    explorer: 'https://polygonscan.com',
    native: 'MATIC',
    confirmations: 32,
    gasCeiling: { fee: '10000', tip: '2000' },
    gasAlarm: '5',
    carryHomeFrom: '0',
    bridgeTime: '10 to 20 minutes',
    // ETH and DAI are Polygon's bridged tokens.
    tokens: {
      USDC: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      ETH: '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619',
      MATIC: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
      DAI: '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063',
    },
  },
  ETH: {
    code: 2,
    name: 'Ethereum',
    chainId: 1,
    domain: 0,
    x402: 'ethereum',
    explorer: 'https://etherscan.io',
    native: 'ETH',
    confirmations: 12,
    gasCeiling: { fee: '500', tip: '50' },
    gasAlarm: '0.1',
    carryHomeFrom: '25',
    bridgeTime: '2 to 5 minutes',
    tokens: {
      USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      EURC: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c',
      ETH: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    },
  },
  ARB: {
    code: 3,
    name: 'Arbitrum',
    chainId: 42_161,
    domain: 3,
    x402: 'arbitrum',
    explorer: 'https://arbiscan.io',
    native: 'ETH',
    confirmations: 20,
    rollup: 'arbitrum',
    gasCeiling: { fee: '50', tip: '5' },
    gasAlarm: '0.01',
    carryHomeFrom: '1',
    bridgeTime: '2 to 5 minutes',
    tokens: {
      USDC: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
      ETH: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
    },
  },
  BASE: {
    code: 4,
    name: 'Base',
    chainId: 8453,
    domain: 6,
    x402: 'base',
    explorer: 'https://basescan.org',
    native: 'ETH',
    confirmations: 20,
    rollup: 'optimism',
    gasCeiling: { fee: '50', tip: '10' },
    gasAlarm: '0.01',
    carryHomeFrom: '1',
    bridgeTime: '10 to 20 minutes',
    tokens: {
      USDC: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      EURC: '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
      ETH: '0x4200000000000000000000000000000000000006',
    },
  },
  AVAX: {
    code: 5,
    name: 'Avalanche',
    chainId: 43_114,
    domain: 1,
    x402: 'avalanche',
    explorer: 'https://snowtrace.io',
    native: 'AVAX',
    confirmations: 3,
    gasCeiling: { fee: '1000', tip: '100' },
    gasAlarm: '1',
    carryHomeFrom: '1',
    bridgeTime: '2 to 5 minutes',
    tokens: {
      USDC: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
      EURC: '0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD',
      AVAX: '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7',
    },
  },
  OP: {
    code: 6,
    name: 'Optimism',
    chainId: 10,
    domain: 2,
    x402: 'optimism',
    explorer: 'https://optimistic.etherscan.io',
    native: 'ETH',
    confirmations: 20,
    rollup: 'optimism',
    gasCeiling: { fee: '50', tip: '10' },
    gasAlarm: '0.01',
    carryHomeFrom: '1',
    bridgeTime: '10 to 20 minutes',
    tokens: {
      USDC: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
      ETH: '0x4200000000000000000000000000000000000006',
    },
  },
} as const satisfies Record<string, ChainFacts>;

export type ChainId = keyof typeof chains;

/** The chain that users spend on, and the only one that accepts coins. */
export const homeChain = 'MATIC' as const satisfies ChainId;

export const assetIds = Object.keys(assets) as readonly Asset[];
export const chainIds = Object.keys(chains) as readonly ChainId[];

/** What people send one another. */
export type Currency = { [Id in Asset]: (typeof assets)[Id] extends { currency: string } ? Id : never }[Asset];

/** What users hold beside currencies, on the home chain only. */
export type Coin = Exclude<keyof (typeof chains)[typeof homeChain]['tokens'], Currency>;

/** What a user can own. Other assets only pay for gas. */
export type Holding = Currency | Coin;

export const currencies = assetIds.filter(isCurrency);
export const holdings = assetIds.filter(isHolding);
export const coins = (Object.keys(chains[homeChain].tokens) as readonly Holding[]).filter(isCoin);

/** Native coins without a price on the home chain's market. */
export type UntradedCoin = Exclude<(typeof chains)[ChainId]['native'], Coin>;

export const untradedCoins = [...new Set(chainIds.map((id) => chains[id].native))].filter(
  (native): native is UntradedCoin => !isCoin(native),
);

export function isCurrency(asset: Asset): asset is Currency {
  return 'currency' in assets[asset];
}

export function isCoin(asset: Asset): asset is Coin {
  return asset in chains[homeChain].tokens && !isCurrency(asset);
}

export function isHolding(asset: Asset): asset is Holding {
  return asset in chains[homeChain].tokens || isCurrency(asset);
}
