import type { PublicClient } from 'viem';
import { findReceipt } from './find-receipt.ts';
import type { ChainNode, Network } from './network.ts';

/**
 * Whether nodes of two different hosts confirm a fact, each asked alone; with a single host, whether it does. Needed
 * before money is given back: a node that wrongly reports a transaction as reverted would make us pay twice.
 */
export async function doNodesAgree(
  { nodes }: Pick<Network, 'nodes'>,
  says: (client: PublicClient) => Promise<boolean>,
): Promise<boolean> {
  // A node that does not answer confirms nothing.
  const answers = await Promise.all(nodes.map(({ client }) => says(client).catch(() => false)));
  const agreeing = nodes.filter((_, index) => answers[index]);
  return hostsOf(agreeing) >= Math.min(2, hostsOf(nodes));
}

/** Whether a transaction was reverted, in a block that is still part of the chain. */
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
