import { BaseError, type Hex, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem';
import type { ChainNode, Network } from './network.ts';

/** Undefined when the chain has no receipt. Throws when the node does not answer. */
export async function findReceipt(client: PublicClient, hash: Hex): Promise<TransactionReceipt | undefined> {
  try {
    return await client.getTransactionReceipt({ hash });
  } catch (error) {
    if (error instanceof TransactionReceiptNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Why a contract reverted a transaction. A receipt does not say, so this repeats the call as of its block without
 * sending it. Undefined when the repeated call gives no reason or the node does not answer. A single node's answer is
 * enough, because it only decides who pays the gas of a swap.
 */
export async function findRevertReason(client: PublicClient, hash: Hex): Promise<string | undefined> {
  try {
    const { from: account, to, input: data, value, blockNumber } = await client.getTransaction({ hash });
    if (blockNumber === null) return undefined;
    await client.call({ account, to, data, value, blockNumber });
    return undefined;
  } catch (error) {
    return error instanceof BaseError ? reasonIn(`${error.shortMessage} ${error.details}`) : undefined;
  }
}

/** The wording differs between nodes. */
function reasonIn(text: string): string | undefined {
  return (
    /reverted with reason string '([^']+)'/.exec(text)?.[1] ?? /execution reverted:? ([^\n]+)/i.exec(text)?.[1]?.trim()
  );
}

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
