import type { Chain } from '../ledger/account-id.ts';
import type { Asset } from '../money/asset.ts';

/** The chains that money lives on, by the interface's own ids. */
export type ChainId = Chain;

export interface ChainFacts {
  readonly name: string;
  /** EIP-155. */
  readonly chainId: number;
  /** How Circle's cross-chain protocol numbers it. */
  readonly domain: number;
  readonly explorer: string;
  /** The coin that gas is paid in. */
  readonly native: Asset;
  /** Blocks, counting its own, after which we call a transaction final. */
  readonly confirmations: number;
  /** Its blocks are final only when another chain has them: until then whoever orders them may take them back. */
  readonly isRollup?: true;
  /** Circle's own USDC and EURC, never a bridged one. Circle issues no EURC on Polygon, Arbitrum and Optimism. */
  readonly tokens: { readonly USDC: `0x${string}`; readonly EURC?: `0x${string}` };
}

export const chains = {
  MATIC: {
    name: 'Polygon',
    chainId: 137,
    domain: 7,
    explorer: 'https://polygonscan.com',
    native: 'MATIC',
    confirmations: 32,
    tokens: { USDC: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359' },
  },
  ETH: {
    name: 'Ethereum',
    chainId: 1,
    domain: 0,
    explorer: 'https://etherscan.io',
    native: 'ETH',
    confirmations: 12,
    tokens: {
      USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      EURC: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c',
    },
  },
  ARB: {
    name: 'Arbitrum',
    chainId: 42_161,
    domain: 3,
    explorer: 'https://arbiscan.io',
    native: 'ETH',
    confirmations: 20,
    isRollup: true,
    tokens: { USDC: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831' },
  },
  BASE: {
    name: 'Base',
    chainId: 8453,
    domain: 6,
    explorer: 'https://basescan.org',
    native: 'ETH',
    confirmations: 20,
    isRollup: true,
    tokens: {
      USDC: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      EURC: '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
    },
  },
  AVAX: {
    name: 'Avalanche',
    chainId: 43_114,
    domain: 1,
    explorer: 'https://snowtrace.io',
    native: 'AVAX',
    confirmations: 3,
    tokens: {
      USDC: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
      EURC: '0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD',
    },
  },
  OP: {
    name: 'Optimism',
    chainId: 10,
    domain: 2,
    explorer: 'https://optimistic.etherscan.io',
    native: 'ETH',
    confirmations: 20,
    isRollup: true,
    tokens: { USDC: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85' },
  },
} as const satisfies Record<ChainId, ChainFacts>;

export const chainIds = Object.keys(chains) as readonly ChainId[];

/** The chain that users spend on. */
export const homeChain: ChainId = 'MATIC';
