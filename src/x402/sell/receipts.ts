import type { Hex } from 'viem';
import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type Receipt, type X402Version } from '../wire/messages.ts';
import type { Claim } from './claim.ts';
import type { Sale, SellingParts } from './sale.ts';
import { paymentChain } from './terms.ts';

export interface Paid {
  readonly paymentId: string;
  readonly payer: Hex;
  readonly atomic: bigint;
  /** Null until settlement. */
  readonly txHash: Hex | null;
}

/** Until settlement the transaction is empty, and `paymentId` identifies the payment. */
export function receiptHeaders({ paymentId, payer, atomic, txHash }: Paid): Record<string, string> {
  return inBothVersions({ success: true, transaction: txHash ?? '', payer, amount: atomic.toString(), paymentId });
}

/** So that any client finds it. */
function inBothVersions(receipt: Omit<Receipt, 'network'> & { readonly paymentId: string }): Record<string, string> {
  const header = (version: X402Version) => encodeHeader({ ...receipt, network: networkName(paymentChain, version) });
  return { [headerNames[1].receipt]: header(1), [headerNames[2].receipt]: header(2) };
}

/**
 * It is not known yet whether the payment has moved. The client must not pay again: the same request with the same
 * payment is answered as soon as the outcome is known.
 */
export function pending({ publicUrl }: Pick<SellingParts, 'publicUrl'>, claim: Claim): Sale {
  const { id: paymentId, pendingHash, authorization } = claim;
  const status = 'settlement_pending';
  const transaction = pendingHash ?? '';
  const receipt = { success: false, errorReason: status, transaction, payer: authorization.from, paymentId };
  return {
    status: 202,
    body: { status, paymentId, transaction, statusUrl: `${publicUrl()}/api/nano/payments/${paymentId}` },
    headers: { 'Retry-After': '5', ...inBothVersions(receipt) },
  };
}
