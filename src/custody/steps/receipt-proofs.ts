import { decodeEventLog, type Hex, type Log, size, slice, toEventSelector } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import { burnLayout, cctp, messageTransmitterAbi } from '../../chains/cctp.ts';

/** A wallet's authorization was used. Its nonce is used only once, no matter who submits it. */
export function authorizationProof(token: Hex, authorizer: Hex, nonce: Hex): string {
  return `eip3009:${token}:${authorizer}:${nonce}`.toLowerCase();
}

/** A CCTP message was delivered. Its nonce is used only once, no matter who delivers it. */
export function messageProof(sourceDomain: number, nonce: Hex): string {
  return `cctp:${sourceDomain}:${nonce}`.toLowerCase();
}

type ReceiptLog = Pick<Log, 'address' | 'topics' | 'data'>;

/**
 * Everything that a receipt proves about the transfer at this position. The token emits `AuthorizationUsed` just before the transfer, and
 * the transmitter emits `MessageReceived` after the mint.
 */
export function proofsOf(logs: readonly ReceiptLog[], position: number): string[] {
  return [authorizationBefore(logs, position), messageAfter(logs, position)].filter((proof) => proof !== undefined);
}

const authorizationUsed = toEventSelector('AuthorizationUsed(address,bytes32)');
const transferred = toEventSelector('Transfer(address,address,uint256)');

/** Read by hand: a settlement's receipt has two logs for each payment, and viem hashes the names of events for every log. */
function authorizationBefore(logs: readonly ReceiptLog[], position: number): string | undefined {
  const [before, transfer] = [logs[position - 1], logs[position]];
  if (before === undefined || transfer === undefined) return undefined;
  if (before.address.toLowerCase() !== transfer.address.toLowerCase()) return undefined;
  const [used, moved] = [indexedOf(before, authorizationUsed), indexedOf(transfer, transferred)];
  if (used === undefined || moved === undefined || size(transfer.data) < 32) return undefined;
  const [authorizer, nonce] = used;
  const [from] = moved;
  return addressIn(authorizer) === addressIn(from)
    ? authorizationProof(transfer.address, addressIn(authorizer), nonce)
    : undefined;
}

/** The two indexed values of an event that has two. */
function indexedOf({ topics }: ReceiptLog, selector: Hex): readonly [Hex, Hex] | undefined {
  const [event, first, second, ...more] = topics;
  if (event !== selector || first === undefined || second === undefined || more.length > 0) return undefined;
  return size(first) === 32 && size(second) === 32 ? [first, second] : undefined;
}

const addressIn = (word: Hex): Hex => `0x${word.slice(-40).toLowerCase()}`;

function messageAfter(logs: readonly ReceiptLog[], position: number): string | undefined {
  const transfer = logs[position];
  const next = logs.find((log, index) => index > position && isOfTransmitter(log));
  if (transfer === undefined || next === undefined) return undefined;
  const [moved, received] = [decode(tokenAbi, transfer), decode(messageTransmitterAbi, next)];
  if (moved?.eventName !== 'Transfer' || received === undefined) return undefined;
  const { sourceDomain, nonce, messageBody } = received.args;
  return brings(messageBody, moved.args) ? messageProof(sourceDomain, nonce) : undefined;
}

const transmitter = cctp.messageTransmitter.toLowerCase();

function isOfTransmitter(log: ReceiptLog): boolean {
  return log.address.toLowerCase() === transmitter && decode(messageTransmitterAbi, log) !== undefined;
}

/**
 * Whether the message brings this transfer: the burned amount less the fee. Without this check the deliverer of a message could move other
 * tokens to us just before, and they would count as its mint.
 */
function brings(body: Hex, { to, value }: { readonly to: Hex; readonly value: bigint }): boolean {
  if (size(body) < burnLayout.hookData) return false;
  const word = (at: number) => BigInt(slice(body, at, at + 32));
  const { mintRecipient, amount, feeExecuted } = burnLayout;
  return word(mintRecipient) === BigInt(to) && word(amount) - word(feeExecuted) === value;
}

function decode<const Abi extends typeof tokenAbi | typeof messageTransmitterAbi>(
  abi: Abi,
  { topics, data }: ReceiptLog,
) {
  try {
    return decodeEventLog({ abi, topics, data });
  } catch {
    // An unknown event.
    return undefined;
  }
}
