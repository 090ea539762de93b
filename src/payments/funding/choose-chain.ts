import type { Networks } from '../../chains/network.ts';
import { depositTokens } from '../../custody/wallets/deposit-tokens.ts';
import { type Asset, type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** The home chain, then where gas is cheap: where the least is carried home. */
const preferred = chainIds.toSorted(
  (one, other) => Number(chains[one].carryHomeFrom) - Number(chains[other].carryHomeFrom),
);

/**
 * Where a currency is to arrive: on the chain that people spend on, or where it has no contract there, on the first other one
 * that has one. Undefined when there is none.
 */
export function chooseChain(networks: Networks, asset: Asset): ChainId | undefined {
  return preferred.find((id) => {
    const network = networks.get(id);
    return network !== undefined && depositTokens(network).some((token) => token.asset === asset);
  });
}
