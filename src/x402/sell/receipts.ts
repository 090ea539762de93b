import type { Hex } from 'viem';
import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type X402Version } from '../wire/networks.ts';
import type { Receipt } from '../wire/receipt.ts';
import { homeOfPayments } from './terms.ts';

/** What a payer is told of a payment that was taken. */
export interface Paid {
  readonly paymentId: string;
  readonly payer: Hex;
  readonly atomic: bigint;
  /** Null until it is settled. */
  readonly txHash: Hex | null;
}

/** The receipt in both forms, so that whoever reads either finds it. */
export function receiptHeaders(paid: Paid): Record<string, string> {
  return {
    [headerNames[1].receipt]: encodeHeader(receiptOf(paid, 1)),
    [headerNames[2].receipt]: encodeHeader(receiptOf(paid, 2)),
  };
}

/** Until it is settled there is no transaction to name, and `paymentId` is what to ask after it by. */
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
