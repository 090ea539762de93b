import { type Hex, size, slice } from 'viem';
import { burnLayout, messageLayout } from '../../chains/cctp.ts';

/** The fields of a burn message. */
export interface BurnMessage {
  readonly sourceDomain: number;
  readonly destinationDomain: number;
  readonly nonce: Hex;
  readonly mintRecipient: bigint;
  readonly burnToken: bigint;
  readonly amount: bigint;
  readonly messageSender: bigint;
}

/** Undefined when the message is too short for a burn. */
export function readBurnMessage(message: Hex): BurnMessage | undefined {
  if (size(message) < messageLayout.body + burnLayout.hookData) return undefined;
  const bytes = (from: number, length: number) => slice(message, from, from + length);
  const word = (from: number) => BigInt(bytes(messageLayout.body + from, 32));
  return {
    sourceDomain: Number(bytes(messageLayout.sourceDomain, 4)),
    destinationDomain: Number(bytes(messageLayout.destinationDomain, 4)),
    nonce: bytes(messageLayout.nonce, 32),
    mintRecipient: word(burnLayout.mintRecipient),
    burnToken: word(burnLayout.burnToken),
    amount: word(burnLayout.amount),
    messageSender: word(burnLayout.messageSender),
  };
}
