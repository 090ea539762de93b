import type { Hex } from 'viem';
import type { Terms1, Terms2 } from '../wire/terms.ts';
import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';

/** A payment, and the terms that it is to be judged by. */
export interface FacilitatorQuestion {
  readonly payment: ReceivedPayment;
  readonly terms: Terms1 | Terms2;
}

type Settled =
  | { readonly is: 'settled'; readonly txHash: Hex }
  /** Nothing was moved. */
  | { readonly is: 'refused'; readonly reason: Reason }
  /** Perhaps it was moved: only the chain can tell. */
  | { readonly is: 'unknown' };

/** Somebody else who checks payments and submits them. Without one we do both ourselves. */
export interface Facilitator {
  /** Undefined when it takes the payment. */
  verify(question: FacilitatorQuestion): Promise<Reason | undefined>;
  settle(question: FacilitatorQuestion): Promise<Settled>;
}
