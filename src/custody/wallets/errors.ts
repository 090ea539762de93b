import type { Network, Networks } from '../../chains/network.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import type { ChainId } from '../../money/catalogue.ts';

export const walletErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not support that chain. GET /cross-chain/chains lists the supported ones.',
  },
});

/** The same code as above, because a client reacts alike: it takes another chain, or tries later. */
export const silentErrors = defineErrors({
  chain_not_available: {
    status: 503,
    title: 'Chain not available',
    detail: 'The chain’s nodes have not responded for a minute. No money was moved. Try again later.',
  },
});

export function requireNetwork(networks: Networks, id: ChainId): Network {
  const network = networks.get(id);
  if (network !== undefined) return network;
  throw walletErrors.chain_not_available(
    `This service does not support ${id}. Use one of ${[...networks.keys()].join(', ')}.`,
  );
}
