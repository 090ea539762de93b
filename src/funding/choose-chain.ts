import { type ChainId, chainIds, homeChain } from '../chains/chains.ts';
import type { Networks } from '../chains/network.ts';
import type { Asset } from '../money/asset.ts';
import { depositTokens } from '../wallets/deposit-tokens.ts';

/** Where gas is cheap comes first. */
const preferred: readonly ChainId[] = [homeChain, 'BASE', 'AVAX', 'ARB', 'OP', 'ETH'];

/**
 * Where a currency is to arrive: on the chain that people spend on, or where it has no contract there, on the first other one
 * that has one. Undefined when there is none.
 */
export function chooseChain(networks: Networks, asset: Asset): ChainId | undefined {
  const order = [...preferred, ...chainIds.filter((id) => !preferred.includes(id))];
  return order.find((id) => {
    const network = networks.get(id);
    return network !== undefined && depositTokens(network).some((token) => token.asset === asset);
  });
}
