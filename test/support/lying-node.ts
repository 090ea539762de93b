import { randomBytes } from 'node:crypto';
import { encodeEventTopics, type Hex, pad, toHex, zeroHash } from 'viem';
import { tokenAbi } from '../../src/chains/abi.ts';
import { createNetworks, type Network, tokenOf } from '../../src/chains/network.ts';
import type { Asset, ChainId } from '../../src/money/catalogue.ts';
import type { TestChains } from './chains.ts';
import { startUnrulyRpc, type UnrulyRpc } from './unruly-rpc.ts';

/** A node of its own host before a local chain. */
export async function startNode(chains: TestChains, chain: ChainId, place: number): Promise<UnrulyRpc> {
  const settings = chains.local.settings.get(chain);
  if (settings === undefined) throw new Error(`${chain} is not running`);
  return startUnrulyRpc(chain, settings, { host: `127.0.0.${place}` });
}

/** Each of these nodes stands for somebody else's, though all of them are on this machine. */
const witness = (url: string) => new URL(url).hostname;

/** A chain that is reached at these nodes, in this order. */
export function networkOf(chains: TestChains, chain: ChainId, urls: readonly string[]): Network {
  const settings = chains.local.settings.get(chain);
  const { confirmations, pollMs } = chains.network(chain);
  const network =
    settings && createNetworks(new Map([[chain, { ...settings, confirmations, pollMs, urls, witness }]])).get(chain);
  if (network === undefined) throw new Error(`${chain} is not running`);
  return network;
}

export interface Forgery {
  readonly asset?: Asset;
  readonly to: Hex;
  readonly atomic: bigint;
  /** Of a transaction that there is, in place of what that has done. */
  readonly instead?: { readonly txHash: Hex; readonly position: number };
}

/** From now on the node tells of a transfer that never was, in a new block, with a receipt to show for it. */
export async function forgeTransfer(
  chains: TestChains,
  chain: ChainId,
  node: UnrulyRpc,
  { asset = 'USDC', to, atomic, instead = { txHash: toHex(randomBytes(32)), position: 0 } }: Forgery,
): Promise<Hex> {
  const { txHash, position } = instead;
  const network = chains.network(chain);
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`there is no ${asset} on ${chain}`);
  await chains.mine(chain);
  const { number, hash: blockHash } = await network.client.getBlock();
  const sender = toHex(randomBytes(20));
  const log = {
    address: token.address.toLowerCase(),
    topics: encodeEventTopics({ abi: tokenAbi, eventName: 'Transfer', args: { from: sender, to } }),
    data: pad(toHex(atomic)),
    blockNumber: toHex(number),
    blockHash,
    transactionHash: txHash,
    transactionIndex: '0x63',
    logIndex: '0x63',
    removed: false,
  };
  const receipt = {
    transactionHash: txHash,
    transactionIndex: '0x63',
    blockHash,
    blockNumber: toHex(number),
    from: sender,
    to: token.address,
    cumulativeGasUsed: '0x5208',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
    contractAddress: null,
    logs: [...Array.from({ length: position }, () => ({ ...log, logIndex: '0x62', topics: [zeroHash] })), log],
    logsBloom: `0x${'00'.repeat(256)}`,
    status: '0x1',
    type: '0x2',
  };
  node.misbehave(({ method, params }) => {
    if (method === 'eth_getTransactionReceipt' && params[0] === txHash) return { result: receipt };
    if (method !== 'eth_getLogs') return undefined;
    const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
    const isMeant = BigInt(fromBlock) <= number && number <= BigInt(toBlock);
    return isMeant ? (logs: unknown[]) => [...logs, log] : undefined;
  });
  return txHash;
}
