import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** The versions of x402 that we speak. */
export type X402Version = 1 | 2;

/** The second version calls a chain by its number (CAIP-2), the first by a name of its own. */
export function networkName(chain: ChainId, version: X402Version): string {
  return version === 1 ? chains[chain].x402 : `eip155:${chains[chain].chainId}`;
}

const chainsByName = {
  1: new Map(chainIds.map((chain) => [networkName(chain, 1), chain])),
  2: new Map(chainIds.map((chain) => [networkName(chain, 2), chain])),
};

/** Undefined when it is none of ours. */
export function chainOfNetwork(name: string, version: X402Version): ChainId | undefined {
  return chainsByName[version].get(name);
}
