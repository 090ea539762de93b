import { decodeEventLog, type Hex, isAddressEqual, type Log, parseAbi, size, slice } from 'viem';
import { tokenAbi } from '../chains/abi.ts';

/** Circle's MessageTransmitterV2, which has the same address on every chain that we know. */
export const messageTransmitter = '0x81D40F21F12A8F0E3252Bccb954D722d4c464B64';

export const messageReceivedAbi = parseAbi([
  'event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)',
]);

/** That a wallet's authorization was used; its nonce is used only once, whoever submits it. */
export function authorizationProof(token: Hex, authorizer: Hex, nonce: Hex): string {
  return `eip3009:${token}:${authorizer}:${nonce}`.toLowerCase();
}

/** That a message of Circle's cross-chain protocol was delivered; its nonce is used only once, whoever delivers it. */
export function messageProof(sourceDomain: number, nonce: Hex): string {
  return `cctp:${sourceDomain}:${nonce}`.toLowerCase();
}

type ReceiptLog = Pick<Log, 'address' | 'topics' | 'data'>;

/**
 * Everything that a receipt proves about the transfer at one place of it. Each contract tells of a transfer and of its cause
 * in an order of its own: the token says that an authorization was used just before it moves the money, and the
 * transmitter says that a message was received when everything that the message brings was minted.
 */
export function proofsOf(logs: readonly ReceiptLog[], position: number): string[] {
  return [authorizationBefore(logs, position), messageAfter(logs, position)].filter((proof) => proof !== undefined);
}

function authorizationBefore(logs: readonly ReceiptLog[], position: number): string | undefined {
  const [before, transfer] = [logs[position - 1], logs[position]];
  if (before === undefined || transfer === undefined || !isAddressEqual(before.address, transfer.address))
    return undefined;
  const [used, moved] = [decode(tokenAbi, before), decode(tokenAbi, transfer)];
  if (used?.eventName !== 'AuthorizationUsed' || moved?.eventName !== 'Transfer') return undefined;
  const { authorizer, nonce } = used.args;
  if (!isAddressEqual(authorizer, moved.args.from)) return undefined;
  return authorizationProof(transfer.address, authorizer, nonce);
}

function messageAfter(logs: readonly ReceiptLog[], position: number): string | undefined {
  const [transfer, next] = [logs[position], logs.slice(position + 1).find(isOfTransmitter)];
  if (transfer === undefined || next === undefined) return undefined;
  const [moved, received] = [decode(tokenAbi, transfer), decode(messageReceivedAbi, next)];
  if (moved?.eventName !== 'Transfer' || received === undefined) return undefined;
  const { sourceDomain, nonce, messageBody } = received.args;
  return brings(messageBody, moved.args) ? messageProof(sourceDomain, nonce) : undefined;
}

function isOfTransmitter(log: ReceiptLog): boolean {
  return isAddressEqual(log.address, messageTransmitter) && decode(messageReceivedAbi, log) !== undefined;
}

/**
 * Whether this is what a message says that it brings: what was burnt, less the fee that was taken. Whoever delivers a message
 * can move other tokens to us just before, and those it does not bring.
 */
function brings(body: Hex, { to, value }: { readonly to: Hex; readonly value: bigint }): boolean {
  if (size(body) < burnMessage.size) return false;
  const word = (at: number) => BigInt(slice(body, at, at + 32));
  const { recipient, burnt, fee } = burnMessage;
  return word(recipient) === BigInt(to) && word(burnt) - word(fee) === value;
}

/** Where each is in the body of a message that carries money, version 2, in bytes. */
const burnMessage = { recipient: 36, burnt: 68, fee: 164, size: 228 } as const;

function decode<const Abi extends typeof tokenAbi | typeof messageReceivedAbi>(abi: Abi, { topics, data }: ReceiptLog) {
  try {
    return decodeEventLog({ abi, topics, data });
  } catch {
    // An event that we do not know.
    return undefined;
  }
}
