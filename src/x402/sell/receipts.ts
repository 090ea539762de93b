import type { Hex } from 'viem';
import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type X402Version } from '../wire/networks.ts';
import type { Receipt } from '../wire/receipt.ts';
import { homeOfPayments } from './terms.ts';

export interface Paid {
  readonly paymentId: string;
  readonly payer: Hex;
  readonly atomic: bigint;
  /** Null until settlement. */
  readonly txHash: Hex | null;
}

/** In both versions, so that any client finds it. */
export function receiptHeaders(paid: Paid): Record<string, string> {
  return {
    [headerNames[1].receipt]: encodeHeader(receiptOf(paid, 1)),
    [headerNames[2].receipt]: encodeHeader(receiptOf(paid, 2)),
  };
}

/** Until settlement the transaction is empty, and `paymentId` identifies the payment. */
function receiptOf({ paymentId, payer, atomic, txHash }: Paid, version: X402Version): Receipt & { paymentId: string } {
  return {
    success: true,
    transaction: txHash ?? '',
    network: networkName(homeOfPayments, version),
    payer,
    amount: atomic.toString(),
    paymentId,
  };
}
