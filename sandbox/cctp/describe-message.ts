import { type Hex, size, slice } from 'viem';
import { burnLayout, messageLayout } from '../../src/chains/cctp.ts';
import { carriesMoney } from './burn-messages.ts';

/** The decoded message in the format of Circle's API. */
export function describeMessage(message: Hex): object {
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
