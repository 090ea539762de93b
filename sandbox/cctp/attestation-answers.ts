import { type Hex, toHex } from 'viem';
import { burnLayout, messageLayout } from '../../src/chains/cctp.ts';
import { attest } from './attest.ts';
import type { AttestationBehaviour } from './attestation-behaviour.ts';
import { withBytes } from './burn-messages.ts';
import { describeMessage } from './describe-message.ts';

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
