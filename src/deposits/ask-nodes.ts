import { decodeEventLog, type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { proofsOf } from '../chain-steps/receipt-proofs.ts';
import { tokenAbi } from '../chains/abi.ts';
import { type ChainFacts, chains } from '../chains/chains.ts';
import { findReceipt } from '../chains/find-receipt.ts';
import { type ChainNode, type Network, tokenOf } from '../chains/network.ts';
import type { Arrival } from './arrival.ts';
import type { Testimony } from './judge-testimony.ts';

/** A transfer of a token to an address of ours, at its place within a transaction; and, if that matters, what its receipt proves. */
export type Asserted = Pick<Arrival, 'txHash' | 'position' | 'sender' | 'recipient' | 'asset' | 'atomic'> &
  Partial<Pick<Arrival, 'proofs'>>;

/** Asks every node by itself whether it shows this on the chain. */
export function askNodes(network: Network, asserted: Asserted): Promise<Testimony[]> {
  return Promise.all(network.nodes.map((node) => ask(network, node, asserted)));
}

async function ask(network: Network, node: ChainNode, asserted: Asserted): Promise<Testimony> {
  const { host, client } = node;
  try {
    const receipt = await findReceipt(client, asserted.txHash);
    if (receipt === undefined || !shows(network, receipt, asserted)) return { host, says: 'otherwise' };
    const { blockNumber: number, blockHash: hash } = receipt;
    // A receipt names any block it likes: it counts only if the node has that block in its chain.
    if ((await client.getBlock({ blockNumber: number })).hash !== hash) return { host, says: 'otherwise' };
    return { host, says: 'shown', block: { number, hash, isFinal: number <= (await lastFinal(network, node)) } };
  } catch {
    // Whatever keeps it from answering, it says nothing for or against.
    return { host, says: 'silent' };
  }
}

function shows(network: Network, { status, logs }: TransactionReceipt, asserted: Asserted): boolean {
  const { position, sender, recipient, asset, atomic, proofs } = asserted;
  const token = tokenOf(network, asset);
  const log = logs[position];
  if (status !== 'success' || token === undefined || log === undefined) return false;
  if (!isAddressEqual(log.address, token.address)) return false;
  const moved = transferIn(log);
  return (
    moved !== undefined &&
    moved.value === atomic &&
    isAddressEqual(moved.from, sender) &&
    isAddressEqual(moved.to, recipient) &&
    (proofs === undefined || proofsOf(logs, position).join() === proofs.join())
  );
}

function transferIn({ data, topics }: TransactionReceipt['logs'][number]) {
  try {
    const { eventName, args } = decodeEventLog({ abi: tokenAbi, data, topics });
    return eventName === 'Transfer' ? (args as { from: Hex; to: Hex; value: bigint }) : undefined;
  } catch {
    // An event that the token has besides.
    return undefined;
  }
}

/**
 * The newest block that this node calls final. Whoever orders a rollup's blocks can take them back until another chain has
 * them, however many have come since; elsewhere the confirmations say it, as for every deposit.
 */
async function lastFinal({ id, confirmations }: Network, { client }: ChainNode): Promise<bigint> {
  const facts: ChainFacts = chains[id];
  if (facts.isRollup) return (await client.getBlock({ blockTag: 'finalized' })).number;
  return (await client.getBlockNumber({ cacheTime: 0 })) - BigInt(confirmations) + 1n;
}
