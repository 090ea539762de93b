import type { Hex } from 'viem';
import type { Terms1, Terms2 } from '../wire/terms.ts';
import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';

export interface FacilitatorQuestion {
  readonly payment: ReceivedPayment;
  readonly terms: Terms1 | Terms2;
}

type Settled =
  | { readonly is: 'settled'; readonly txHash: Hex }
  /** No money moved. */
  | { readonly is: 'refused'; readonly reason: Reason }
  /** Money may have moved; only the chain can tell. */
  | { readonly is: 'unknown' };

/** An external service that verifies and submits payments. Without one this service does both. */
export interface Facilitator {
  /** Undefined when the payment is accepted. */
  verify(question: FacilitatorQuestion): Promise<Reason | undefined>;
  settle(question: FacilitatorQuestion): Promise<Settled>;
}
