import { type Address, type Hex, isAddressEqual, type Log, parseAbiItem, type TransactionReceipt } from 'viem';
import type { Network } from '../../chains/network.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { wasRefusedByNode, wasTooSlow } from '../../kernel/jobs/error-reporter.ts';
import type { AccountId } from '../../ledger/account-id.ts';
import type { Asset } from '../../money/catalogue.ts';
import { proofsOf } from '../steps/receipt-proofs.ts';
import { depositTokens } from '../wallets/kept-chains.ts';
import type { AddressBook } from './address-book.ts';

/** Blocks per request at first; halved whenever the node refuses. */
const mostBlocks = 2_000n;

interface Piece {
  readonly range: BlockRange;
  readonly transfers: readonly TransferLog[];
}

/** Reads the transfers of any number of blocks, newest first, in ranges as large as the node accepts. */
export async function* readInRanges(
  network: Network,
  { from, to }: BlockRange,
  book: AddressBook,
): AsyncGenerator<Piece> {
  let blocks = mostBlocks;
  for (let last = to; last >= from; ) {
    const first = last - blocks + 1n;
    const range = { from: first > from ? first : from, to: last };
    try {
      yield { range, transfers: await readTransfers(network, range, book) };
      last = range.from - 1n;
    } catch (error) {
      if (blocks === 1n || !(wasRefusedByNode(error) || wasTooSlow(error))) throw error;
      blocks /= 2n;
    }
  }
}

/** A transfer that arrived, and its account; null for the house. */
export interface Arrival extends Omit<LocatedTransfer, 'blockHash' | 'logIndex' | 'log'> {
  readonly accountId: bigint | null;
  /** Set when a step expected it at a house wallet, or when a claim names its account. */
  readonly expected?: { readonly stepId?: string; readonly claimId?: string; readonly account: AccountId };
  /** Only one node has shown it. */
  readonly oneNode?: true;
  /** Set once it was held as a deposit. */
  readonly depositId?: string;
}

const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

/** Recipients that one request may name. */
const addressesPerRequest = 500;
/** Blocks per request when asking for all transfers. A busy chain has about fifty transfers per block. */
const blocksPerRequest = 25n;
const requestsAtOnce = 4;

export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** A transfer of one of our tokens to one of our addresses. */
export interface TransferLog {
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly sender: Address;
  readonly recipient: Address;
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly logIndex: number;
  readonly log: Log;
}

/** With its position within the transaction, which stays the same when the transaction moves to another block. */
export interface LocatedTransfer extends TransferLog {
  readonly position: number;
  /**
   * All positions at which the transaction pays this wallet the same amount, including this one. Known only right after
   * reading.
   */
  readonly alikeAt?: readonly number[];
  /** What its receipt proves about its purpose. */
  readonly proofs: readonly string[];
}

/** The node contradicts itself. Nothing is credited until a later reading settles it. */
class ChainDisagrees extends Error {
  override readonly name = 'ChainDisagrees';
}

/**
 * Everything of value that arrived in these blocks, in the chain's order. The node filters by recipient or, if that
 * takes more requests because we have many addresses, returns all transfers; we check the recipient either way.
 */
export async function readTransfers(
  network: Network,
  range: BlockRange,
  book: AddressBook,
): Promise<readonly TransferLog[]> {
  const tokens = depositTokens(network);
  if (book.addresses.length === 0 || tokens.length === 0) return [];
  const requests = chooseRequests(range, book.addresses);
  const answers = await inParallel(requests, requestsAtOnce, ({ blocks, recipients }) =>
    network.client.getLogs({
      address: tokens.map(({ address }) => address),
      event: transferEvent,
      ...(recipients !== undefined && { args: { to: [...recipients] } }),
      fromBlock: blocks.from,
      toBlock: blocks.to,
      strict: true,
    }),
  );
  const transfers: TransferLog[] = [];
  for (const log of answers.flat()) {
    const token = tokens.find(({ address }) => isAddressEqual(address, log.address));
    const { from, to, value } = log.args;
    // A log without a block is pending, and a removed one is gone.
    if (token === undefined || log.removed || log.blockNumber === null || value === 0n) continue;
    if (log.blockNumber < range.from || log.blockNumber > range.to || book.find(to) === undefined) continue;
    transfers.push({
      asset: token.asset,
      atomic: value,
      sender: from,
      recipient: to,
      txHash: log.transactionHash,
      blockNumber: log.blockNumber,
      blockHash: log.blockHash,
      logIndex: log.logIndex,
      log,
    });
  }
  return transfers.toSorted((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex);
}

interface LogRequest {
  readonly blocks: BlockRange;
  /** All recipients when left out. */
  readonly recipients?: readonly Hex[];
}

/** Chooses the way that takes fewer requests. */
export function chooseRequests({ from, to }: BlockRange, addresses: readonly Hex[]): readonly LogRequest[] {
  const requests: LogRequest[] = [];
  const slices = (to - from) / blocksPerRequest + 1n;
  if (Math.ceil(addresses.length / addressesPerRequest) <= slices) {
    for (let start = 0; start < addresses.length; start += addressesPerRequest) {
      requests.push({ blocks: { from, to }, recipients: addresses.slice(start, start + addressesPerRequest) });
    }
  } else {
    for (let first = from; first <= to; first += blocksPerRequest) {
      const last = first + blocksPerRequest - 1n;
      requests.push({ blocks: { from: first, to: last < to ? last : to } });
    }
  }
  return requests;
}

/** Checks each transfer against its transaction's receipt, and finds its position there. */
export async function locateTransfers(
  network: Network,
  transfers: readonly TransferLog[],
): Promise<readonly LocatedTransfer[]> {
  const hashes = [...new Set(transfers.map(({ txHash }) => txHash))];
  const receipts = await inParallel(hashes, requestsAtOnce, (hash) => network.client.getTransactionReceipt({ hash }));
  const byHash = new Map(receipts.map((receipt, index) => [hashes[index], receipt]));
  return transfers.map((transfer) => {
    const receipt = byHash.get(transfer.txHash);
    if (receipt === undefined) throw new ChainDisagrees(`${transfer.txHash} has no receipt`);
    const position = locate(transfer, receipt);
    const alikeAt = receipt.logs.flatMap((other, index) => (isAlike(other, transfer.log) ? [index] : []));
    return { ...transfer, position, alikeAt, proofs: proofsOf(receipt.logs, position) };
  });
}

function locate({ log, txHash, blockHash }: TransferLog, receipt: TransactionReceipt): number {
  if (receipt.status !== 'success' || receipt.blockHash !== blockHash) {
    throw new ChainDisagrees(`the receipt of ${txHash} does not match its log`);
  }
  const position = receipt.logs.findIndex((other) => other.logIndex === log.logIndex && isSameLog(other, log));
  if (position === -1) throw new ChainDisagrees(`a log of ${txHash} is not in its receipt`);
  return position;
}

/** A receipt of many payments is compared log by log, and viem's comparison, which checks both addresses, is slower than all the rest. */
function isSame(one: Address, other: Address): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase();
}

/** The sender may differ: one transaction may settle payments of several wallets. */
function isAlike(one: Pick<Log, 'address' | 'topics' | 'data'>, other: Log): boolean {
  const [signature, , recipient] = other.topics;
  return (
    isSame(one.address, other.address) &&
    one.data === other.data &&
    one.topics[0] === signature &&
    one.topics[2] === recipient
  );
}

function isSameLog(one: Pick<Log, 'address' | 'topics' | 'data'>, other: Log): boolean {
  return (
    isSame(one.address, other.address) &&
    one.data === other.data &&
    one.topics.length === other.topics.length &&
    one.topics.every((topic, index) => topic === other.topics[index])
  );
}
