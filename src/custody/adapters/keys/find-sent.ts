import {
  getAddress,
  type Hex,
  isAddressEqual,
  keccak256,
  parseAbiItem,
  recoverTransactionAddress,
  serializeTransaction,
  type Transaction,
  type TransactionSerializedEIP1559,
} from 'viem';
import { doNodesAgree, findReceipt, isUndone } from '../../../chains/find-receipt.ts';
import { findSpender } from '../../../chains/find-spender.ts';
import type { Network } from '../../../chains/network.ts';
import { type ChainId, chains } from '../../../money/catalogue.ts';

const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

/** Nodes refuse log queries over more blocks. */
const blocksAtOnce = 1_000n;

export interface SentTransaction {
  readonly hash: Hex;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  readonly gasLimit: bigint;
  readonly maxFee: bigint;
  readonly priorityFee: bigint;
  readonly blockNumber: bigint;
  /** With its signature. */
  readonly raw: Hex;
  /** Reverted, as more than one node confirms, because what it was for will be paid again. */
  readonly wasUndone: boolean;
}

export interface SentQuestion {
  readonly sender: Hex;
  /** From the first nonce up to, but not including, `to`. */
  readonly from: number;
  readonly to: number;
  /** The range of blocks to search. */
  readonly since: bigint;
  readonly until: bigint;
}

/**
 * The transactions that a wallet sent with these nonces, as far as nodes know. Nodes have no index by nonce. Where our
 * tokens left, a log leads to the transaction for as long as the node has blocks; for the rest, a binary search over
 * the nonce needs old state, which nodes keep only for a while.
 */
export async function findSent(
  network: Network,
  question: SentQuestion,
): Promise<ReadonlyMap<number, SentTransaction>> {
  const found = await findByLogs(network, question);
  const { sender, from, to, since, until } = question;
  for (let nonce = from; nonce < to; nonce++) {
    if (found.has(nonce)) continue;
    const hash = await findSpender(network.client, { address: sender, nonce: BigInt(nonce), from: since, to: until })
      // The node no longer has that state.
      .catch(() => 'unclear' as const);
    const sent = hash === 'free' || hash === 'unclear' ? undefined : await readSent(network, sender, hash);
    if (sent?.nonce === nonce) found.set(nonce, sent);
  }
  return found;
}

async function findByLogs(
  network: Network,
  { sender, from, to, since, until }: SentQuestion,
): Promise<Map<number, SentTransaction>> {
  const found = new Map<number, SentTransaction>();
  const tokens = network.tokens.map(({ address }) => address);
  for (let first = since; first <= until && !found.has(to - 1); first += blocksAtOnce) {
    const last = first + blocksAtOnce - 1n;
    const logs = await network.client.getLogs({
      address: tokens,
      event: transferEvent,
      args: { from: sender },
      fromBlock: first,
      toBlock: last < until ? last : until,
    });
    for (const hash of new Set(logs.map(({ transactionHash }) => transactionHash))) {
      // A transaction that someone else submitted for the wallet used none of its nonces.
      const sent = await readSent(network, sender, hash);
      if (sent !== undefined && sent.nonce >= from && sent.nonce < to) found.set(sent.nonce, sent);
    }
  }
  return found;
}

async function readSent(network: Network, sender: Hex, hash: Hex): Promise<SentTransaction | undefined> {
  const { client } = network;
  const [transaction, receipt] = await Promise.all([client.getTransaction({ hash }), findReceipt(client, hash)]);
  if (receipt === undefined || !isAddressEqual(transaction.from, sender)) return undefined;
  const wasUndone = receipt.status !== 'success' && (await doNodesAgree(network, isUndone(hash)));
  return toSent(network.id, transaction, { blockNumber: receipt.blockNumber, wasUndone });
}

/**
 * Undefined unless our key signed it for this chain, which no node can forge. The same key signs on every chain, so a
 * transaction of another chain proves nothing here.
 */
async function toSent(
  chain: ChainId,
  transaction: Transaction,
  mined: Pick<SentTransaction, 'blockNumber' | 'wasUndone'>,
): Promise<SentTransaction | undefined> {
  if (transaction.type !== 'eip1559' || transaction.to === null) return undefined;
  if (transaction.chainId !== chains[chain].chainId) return undefined;
  const to = getAddress(transaction.to);
  const { hash, nonce, input: data, value, gas, chainId, accessList, r, s } = transaction;
  const { maxFeePerGas, maxPriorityFeePerGas, yParity } = transaction;
  const raw = serializeTransaction(
    { type: 'eip1559', chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas, accessList },
    { r, s, yParity },
  );
  if (keccak256(raw) !== hash) return undefined;
  const signer = await recoverTransactionAddress({ serializedTransaction: raw as TransactionSerializedEIP1559 });
  if (!isAddressEqual(signer, transaction.from)) return undefined;
  return {
    hash,
    nonce,
    to,
    data,
    value,
    gasLimit: gas,
    maxFee: maxFeePerGas,
    priorityFee: maxPriorityFeePerGas,
    raw,
    ...mined,
  };
}
