import type { PublicClient } from 'viem';
import { findReceipt } from './find-receipt.ts';
import type { ChainNode, Network } from './network.ts';

/**
 * Whether nodes of two hosts say so, each asked alone; where there is one host, whether it does. For what money is given back by:
 * a node that calls undone what was done would have it paid twice.
 */
export async function doNodesAgree(
  { nodes }: Pick<Network, 'nodes'>,
  says: (client: PublicClient) => Promise<boolean>,
): Promise<boolean> {
  // One that does not answer says neither yes nor no.
  const answers = await Promise.all(nodes.map(({ client }) => says(client).catch(() => false)));
  const agreeing = nodes.filter((_, index) => answers[index]);
  return hostsOf(agreeing) >= Math.min(2, hostsOf(nodes));
}

/** That a transaction was undone by its contract, in a block that is part of the chain. */
export function isUndone(hash: `0x${string}`): (client: PublicClient) => Promise<boolean> {
  return async (client) => {
    const receipt = await findReceipt(client, hash);
    if (receipt?.status !== 'reverted') return false;
    return (await client.getBlock({ blockNumber: receipt.blockNumber })).hash === receipt.blockHash;
  };
}

function hostsOf(nodes: readonly ChainNode[]): number {
  return new Set(nodes.map(({ host }) => host)).size;
}
