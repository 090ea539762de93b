import type { Networks } from '../../chains/network.ts';
import { depositTokens } from '../../custody/wallets/kept-chains.ts';
import { type Asset, type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** The home chain first, then chains by how little is worth carrying home: where gas is cheap. */
const preferred = chainIds.toSorted(
  (one, other) => Number(chains[one].carryHomeFrom) - Number(chains[other].carryHomeFrom),
);

/** The first chain, in order of preference, that has a contract for the currency. */
export function chooseChain(networks: Networks, asset: Asset): ChainId | undefined {
  return preferred.find((id) => {
    const network = networks.get(id);
    return network !== undefined && depositTokens(network).some((token) => token.asset === asset);
  });
}
