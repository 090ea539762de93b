import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';

export type X402Version = 1 | 2;

/** Version 1 has its own chain names; version 2 uses CAIP-2. */
export function networkName(chain: ChainId, version: X402Version): string {
  return version === 1 ? chains[chain].x402 : `eip155:${chains[chain].chainId}`;
}

const chainsByName = {
  1: new Map(chainIds.map((chain) => [networkName(chain, 1), chain])),
  2: new Map(chainIds.map((chain) => [networkName(chain, 2), chain])),
};

export function chainOfNetwork(name: string, version: X402Version): ChainId | undefined {
  return chainsByName[version].get(name);
}
