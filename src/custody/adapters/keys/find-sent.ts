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
import { doNodesAgree, isUndone } from '../../../chains/agree.ts';
import { findReceipt } from '../../../chains/find-receipt.ts';
import { findSpender } from '../../../chains/find-spender.ts';
import type { Network } from '../../../chains/network.ts';
import { type ChainId, chains } from '../../../money/catalogue.ts';

const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

/** Blocks that one request may ask about; nodes refuse more. */
const blocksAtOnce = 1_000n;

/** A transaction as the chain has it. */
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
  /** It has moved nothing, and not one node alone says so: whatever it was for would be paid again. */
  readonly wasUndone: boolean;
}

export interface SentQuestion {
  readonly sender: Hex;
  /** The first nonce, and the one after the last. */
  readonly from: number;
  readonly to: number;
  /** The blocks among which they were used. */
  readonly since: bigint;
  readonly until: bigint;
}

/**
 * What a wallet has sent with these nonces, as far as nodes can say. No node knows transactions by nonce. Where tokens of ours have
 * left, a log tells which it was, for as long as there are blocks; for the rest it is asked when the nonce was used, which a
 * node remembers for a while only.
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
      // It does not remember that far back.
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
      // What somebody else has submitted for the wallet has used no nonce of it.
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
 * Undefined when our key has not signed it, and for this chain: that is the one thing about it that no node can invent. The same key
 * signs on every chain, and whoever shows here what it has sent there proves nothing.
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
