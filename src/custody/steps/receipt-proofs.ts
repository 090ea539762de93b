import { decodeEventLog, type Hex, isAddressEqual, type Log, size, slice } from 'viem';
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
  const [moved, received] = [decode(tokenAbi, transfer), decode(messageTransmitterAbi, next)];
  if (moved?.eventName !== 'Transfer' || received === undefined) return undefined;
  const { sourceDomain, nonce, messageBody } = received.args;
  return brings(messageBody, moved.args) ? messageProof(sourceDomain, nonce) : undefined;
}

function isOfTransmitter(log: ReceiptLog): boolean {
  return isAddressEqual(log.address, cctp.messageTransmitter) && decode(messageTransmitterAbi, log) !== undefined;
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
