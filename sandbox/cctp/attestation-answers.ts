import { concat, type Hex, keccak256, size, slice, toHex } from 'viem';
import { z } from 'zod';
import { burnLayout, messageLayout } from '../../src/chains/cctp.ts';
import { attesters } from '../accounts.ts';
import { carriesMoney, withBytes } from './burn-messages.ts';

const ms = z.int().min(0);

/** How the service behaves. Tests use it to simulate a slow, silent or faulty service. */
export const attestationBehaviour = z.strictObject({
  /** How long after the first request a transaction is unknown (404). */
  unseenMs: ms.default(150),
  /** How long after that it is pending. */
  pendingMs: ms.default(250),
  /** The reason it gives while pending. */
  delayReason: z
    .enum(['insufficient_fee', 'amount_above_max', 'insufficient_allowance_available'])
    .nullable()
    .default(null),
  /** Stays pending forever. */
  neverAttests: z.boolean().default(false),
  /** How often it lists each message. */
  copies: z.int().min(1).default(1),
  /** A fault instead of the normal response. */
  fault: z
    .enum([
      /** Status 500. */
      'error',
      /** Status 429, although the rate limit is not exceeded. */
      'blocked',
      /** No response. */
      'hang',
      /** Closes the connection. */
      'disconnect',
      /** Status 200 with invalid JSON. */
      'malformed',
      /** Status 200 with unexpected fields. */
      'other_fields',
      /** Status 200 without a message. */
      'empty',
      /** The message pays another recipient than the burn. */
      'foreign_message',
      /** The signatures are in the wrong order. */
      'wrong_signatures',
    ])
    .nullable()
    .default(null),
  /** How many requests fail; null for all. */
  faults: z.int().min(1).nullable().default(null),
  /** A client that exceeds this rate is blocked for `blockedMs`. */
  mostPerSecond: z.int().min(1).default(35),
  blockedMs: ms.default(300_000),
});

export type AttestationBehaviour = z.infer<typeof attestationBehaviour>;

/** A response, or none: the client waits or loses the connection. */
export type ServiceAnswer = { readonly status: number; readonly body: string } | 'hang' | 'disconnect';

export const ok = (body: object): ServiceAnswer => ({ status: 200, body: JSON.stringify(body) });
export const failure = (code: number, message: string): ServiceAnswer => ({
  status: code,
  body: JSON.stringify({ code, message }),
});
export const notFound = failure(404, 'Not found.');
export const badRequest = failure(400, 'Bad request.');
export const tooMany = failure(429, 'Too many requests.');

export function pending({ delayReason }: AttestationBehaviour): object {
  return {
    message: '0x',
    eventNonce: '0x',
    attestation: 'PENDING',
    decodedMessage: null,
    cctpVersion: '2',
    status: 'pending_confirmations',
    delayReason,
  };
}

export async function completed(message: Hex, fault: AttestationBehaviour['fault']): Promise<object> {
  const attestation = await attest(message);
  const told = fault === 'foreign_message' ? payingSomebodyElse(message) : message;
  const decodedMessage = describeMessage(told);
  return {
    message: told,
    eventNonce: (decodedMessage as { nonce: Hex }).nonce,
    attestation: fault === 'wrong_signatures' ? turnedAround(attestation) : attestation,
    decodedMessage,
    cctpVersion: '2',
    status: 'complete',
    delayReason: null,
  };
}

/** The signatures still cover the original message, so no chain accepts it and no money is created. */
function payingSomebodyElse(message: Hex): Hex {
  return withBytes(message, messageLayout.body + burnLayout.mintRecipient, toHex(0xbadn, { size: 32 }));
}

function turnedAround(attestation: Hex): Hex {
  return `0x${attestation.slice(132)}${attestation.slice(2, 132)}`;
}

/** All attesters' signatures over a message, in the order of their addresses. */
export async function attest(message: Hex): Promise<Hex> {
  const hash = keccak256(message);
  return concat(await Promise.all(attesters.map((attester) => attester.sign({ hash }))));
}

/** The decoded message in the format of Circle's API. */
function describeMessage(message: Hex): object {
  const { sourceDomain, destinationDomain, nonce, sender, recipient, destinationCaller, body } = messageLayout;
  const number = (from: number) => String(Number(slice(message, from, from + 4)));
  const address = (from: number) => slice(message, from + 12, from + 32);
  return {
    sourceDomain: number(sourceDomain),
    destinationDomain: number(destinationDomain),
    nonce: slice(message, nonce, nonce + 32),
    sender: address(sender),
    recipient: address(recipient),
    destinationCaller: address(destinationCaller),
    minFinalityThreshold: number(destinationCaller + 32),
    finalityThresholdExecuted: number(destinationCaller + 36),
    messageBody: tail(message, body),
    decodedMessageBody: carriesMoney(message) ? describeBurn(tail(message, body)) : null,
  };
}

function describeBurn(body: Hex): object {
  const { burnToken, mintRecipient, amount, messageSender, maxFee, feeExecuted, expirationBlock, hookData } =
    burnLayout;
  const word = (from: number) => slice(body, from, from + 32);
  const address = (from: number) => slice(body, from + 12, from + 32);
  return {
    burnToken: address(burnToken),
    mintRecipient: address(mintRecipient),
    amount: String(BigInt(word(amount))),
    messageSender: address(messageSender),
    maxFee: String(BigInt(word(maxFee))),
    feeExecuted: String(BigInt(word(feeExecuted))),
    expirationBlock: String(BigInt(word(expirationBlock))),
    hookData: tail(body, hookData),
  };
}

function tail(bytes: Hex, from: number): Hex {
  return size(bytes) > from ? slice(bytes, from) : '0x';
}
