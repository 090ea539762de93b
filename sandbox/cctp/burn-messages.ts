import {
  bytesToHex,
  concat,
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  hexToBytes,
  keccak256,
  parseAbi,
  size,
  slice,
  toHex,
} from 'viem';
import { burnLayout, cctp, messageLayout, standardFinality, tokenMessengerAbi } from '../../src/chains/cctp.ts';
import { chains } from '../../src/money/catalogue.ts';
import { askChain, type LocalChain } from '../chains/local-chain.ts';

interface Log {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

const [messageSent] = encodeEventTopics({ abi: parseAbi(['event MessageSent(bytes message)']) });
/** The offset of the executed finality in a message; `messageLayout` has the others. */
const executedFinality = 144;

/**
 * The messages of a transaction as the service attests them, in log order. It fills in what the chain leaves empty: the finality,
 * the fee of a burn, and a nonce derived from domain, transaction and index, so that it survives a restart.
 */
export async function messagesOf(chain: LocalChain, txHash: Hex): Promise<readonly Hex[]> {
  const receipt = await askChain<{ logs: readonly Log[] } | null>(chain, 'eth_getTransactionReceipt', [txHash]);
  const told = (receipt?.logs ?? []).filter(isMessageSent);
  return Promise.all(told.map((log, index) => complete(chain, log, index)));
}

/** The transaction that emitted the message with this nonce. */
export async function findByNonce(chain: LocalChain, nonce: Hex): Promise<Hex | undefined> {
  const logs = await askChain<readonly Log[]>(chain, 'eth_getLogs', [
    { address: cctp.messageTransmitter, topics: [messageSent], fromBlock: '0x0', toBlock: 'latest' },
  ]);
  const counts = new Map<Hex, number>();
  return logs.find(({ transactionHash }) => {
    const index = counts.get(transactionHash) ?? 0;
    counts.set(transactionHash, index + 1);
    return nonceOf(chain, transactionHash, index) === nonce.toLowerCase();
  })?.transactionHash;
}

export function hasNonce(message: Hex, nonce: Hex): boolean {
  return slice(message, messageLayout.nonce, messageLayout.nonce + 32) === nonce.toLowerCase();
}

/** Whether the token messenger sent it, so that it carries money. */
export function carriesMoney(message: Hex): boolean {
  const { sender, body } = messageLayout;
  if (size(message) < body + burnLayout.hookData) return false;
  return BigInt(slice(message, sender, sender + 32)) === BigInt(cctp.tokenMessenger);
}

export function withBytes(message: Hex, from: number, bytes: Hex): Hex {
  const copy = hexToBytes(message);
  copy.set(hexToBytes(bytes), from);
  return bytesToHex(copy);
}

async function complete(chain: LocalChain, log: Log, index: number): Promise<Hex> {
  let message = bytesOf(log.data);
  message = withBytes(message, messageLayout.nonce, nonceOf(chain, log.transactionHash, index));
  message = withBytes(message, executedFinality, toHex(standardFinality, { size: 4 }));
  if (!carriesMoney(message)) return message;
  const amount = messageLayout.body + burnLayout.amount;
  // The fee at the block of the burn, because a later one could exceed the burn's maximum.
  const fee = await askChain<Hex>(chain, 'eth_call', [
    { to: cctp.tokenMessenger, data: minFeeCall(BigInt(slice(message, amount, amount + 32))) },
    log.blockNumber,
  ]);
  return withBytes(message, messageLayout.body + burnLayout.feeExecuted, fee);
}

function minFeeCall(amount: bigint): Hex {
  return encodeFunctionData({ abi: tokenMessengerAbi, functionName: 'getMinFeeAmount', args: [amount] });
}

function nonceOf(chain: LocalChain, txHash: Hex, index: number): Hex {
  return keccak256(concat([toHex(chains[chain.id].domain, { size: 4 }), txHash, toHex(index, { size: 4 })]));
}

function isMessageSent({ address, topics }: Log): boolean {
  return BigInt(address) === BigInt(cctp.messageTransmitter) && topics[0] === messageSent;
}

/** Decodes the event's only value: offset, length, bytes. */
function bytesOf(data: Hex): Hex {
  return slice(data, 64, 64 + Number(slice(data, 32, 64)));
}
