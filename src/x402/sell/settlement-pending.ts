import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName } from '../wire/networks.ts';
import type { Claim } from './claim.ts';
import type { SellingParts } from './parts.ts';
import type { Sale } from './sale.ts';
import { homeOfPayments } from './terms.ts';

/**
 * It is not known yet whether the payment has moved. The client must not pay again: the same request with the same
 * payment is answered as soon as the outcome is known.
 */
export function pending({ publicUrl }: Pick<SellingParts, 'publicUrl'>, claim: Claim): Sale {
  const transaction = claim.pendingHash ?? '';
  const receipt = (version: 1 | 2) =>
    encodeHeader({
      success: false,
      errorReason: 'settlement_pending',
      transaction,
      network: networkName(homeOfPayments, version),
      payer: claim.authorization.from,
      paymentId: claim.id,
    });
  return {
    status: 202,
    body: {
      status: 'settlement_pending',
      paymentId: claim.id,
      transaction,
      statusUrl: `${publicUrl()}/api/nano/payments/${claim.id}`,
    },
    headers: {
      'Retry-After': '5',
      [headerNames[1].receipt]: receipt(1),
      [headerNames[2].receipt]: receipt(2),
    },
  };
}
