import { isAddressEqual, type PublicClient, type TransactionReceipt } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import { type ChainNode, type Network, tokenOf } from '../../chains/network.ts';
import { transferIn } from '../../chains/token-transfer.ts';
import { type ChainFacts, chains } from '../../money/catalogue.ts';
import { proofsOf } from '../steps/receipt-proofs.ts';
import type { NodeAnswer, ShownTransfer } from './compare-nodes.ts';
import type { Arrival } from './read-transfers.ts';

/** The position of a token transfer to one of our addresses. */
export type Place = Pick<Arrival, 'txHash' | 'position' | 'recipient' | 'asset'>;

/** Asks every node separately. */
export function askNodes(network: Network, place: Place): Promise<NodeAnswer[]> {
  return Promise.all(network.nodes.map((node) => ask(network, node, place)));
}

async function ask(network: Network, node: ChainNode, place: Place): Promise<NodeAnswer> {
  const { host, client } = node;
  try {
    const shown = await findShown(network, client, place);
    if (shown === undefined) return { host, says: 'otherwise' };
    const isFinal = shown.blockNumber <= (await lastFinal(network, node));
    return { host, says: 'shown', shown: { ...shown, isFinal } };
  } catch {
    // A node that fails to answer counts neither for nor against.
    return { host, says: 'silent' };
  }
}

/**
 * The transfer as the chain shows it at that place. Undefined when its transaction is gone, reverted, or does something
 * else there.
 */
export async function findShown(
  network: Network,
  client: PublicClient,
  place: Place,
): Promise<Omit<ShownTransfer, 'isFinal'> | undefined> {
  const receipt = await findReceipt(client, place.txHash);
  const found = receipt && findTransfer(network, receipt, place);
  if (found === undefined || receipt === undefined) return undefined;
  const { blockNumber, blockHash } = receipt;
  // A receipt may name any block: it counts only if the node has that block in its chain.
  return (await client.getBlock({ blockNumber })).hash === blockHash ? { ...found, blockNumber, blockHash } : undefined;
}

function findTransfer(
  network: Network,
  { status, logs }: TransactionReceipt,
  { position, recipient, asset }: Place,
): Pick<ShownTransfer, 'atomic' | 'sender' | 'proofs'> | undefined {
  const token = tokenOf(network, asset);
  const moved = status === 'success' && token !== undefined ? transferIn(logs[position], token) : undefined;
  if (moved === undefined || moved.atomic === 0n || !isAddressEqual(moved.to, recipient)) return undefined;
  return { atomic: moved.atomic, sender: moved.from, proofs: proofsOf(logs, position) };
}

/**
 * The newest block that this node calls final. A rollup's sequencer can take blocks back until Ethereum has them,
 * however many follow; elsewhere the confirmations decide, as for every deposit.
 */
async function lastFinal({ id, confirmations }: Network, { client }: ChainNode): Promise<bigint> {
  const facts: ChainFacts = chains[id];
  if (facts.rollup !== undefined) return (await client.getBlock({ blockTag: 'finalized' })).number;
  return (await client.getBlockNumber({ cacheTime: 0 })) - BigInt(confirmations) + 1n;
}
