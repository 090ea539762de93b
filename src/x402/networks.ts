import { type ChainId, chainIds, chains } from '../chains/chains.ts';

/** How the first version of x402 calls our chains, where it has a name for them. */
const firstNames: Readonly<Record<ChainId, string>> = {
  MATIC: 'polygon',
  ETH: 'ethereum',
  ARB: 'arbitrum',
  BASE: 'base',
  AVAX: 'avalanche',
  OP: 'optimism',
};

/** The versions of x402 that we speak. */
export type X402Version = 1 | 2;

/** The second version calls a chain by its number (CAIP-2), the first by a name of its own. */
export function networkName(chain: ChainId, version: X402Version): string {
  return version === 1 ? firstNames[chain] : `eip155:${chains[chain].chainId}`;
}

/** Undefined when it is none of ours. */
export function chainOfNetwork(name: string, version: X402Version): ChainId | undefined {
  return chainIds.find((chain) => networkName(chain, version) === name);
}
