import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';
import type { RecoverPayer } from './recover-payer.ts';
import { type Price, terms2Of } from './terms.ts';

export interface Verifying {
  readonly price: Price;
  readonly recover: RecoverPayer;
  /** In seconds since the epoch. */
  readonly now: bigint;
  /** For so long at least it must still be valid, so that it can be settled. */
  readonly leastSecondsLeft: bigint;
}

/**
 * For so long at most it may be valid. One that does not move is tried again, at our expense, as long as it can, and written off
 * only then: one without an end would cost gas for ever, and its call would never be lost in the books.
 */
const mostSecondsLeft = 3n * 3_600n;

/** What can be told of a payment without asking anybody. Undefined when nothing is wrong with it. */
export function verifyPayment(payment: ReceivedPayment, verifying: Verifying): Reason | undefined {
  const { authorization, accepted } = payment;
  const { price, recover, now, leastSecondsLeft } = verifying;
  if (accepted !== undefined && !acceptsOurs(accepted, price)) return 'invalid_payment_requirements';
  if (authorization.to.toLowerCase() !== price.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch';
  // A payment of nothing pays for nothing: who owes nothing is asked for nothing.
  if (authorization.atomic !== price.amount.atomic || authorization.atomic === 0n)
    return 'invalid_exact_evm_payload_authorization_value_mismatch';
  if (authorization.validAfter >= now) return 'invalid_exact_evm_payload_authorization_valid_after';
  const secondsLeft = authorization.validBefore - now;
  if (secondsLeft < leastSecondsLeft || secondsLeft > mostSecondsLeft)
    return 'invalid_exact_evm_payload_authorization_valid_before';
  if (recover(authorization) !== authorization.from.toLowerCase()) return 'invalid_exact_evm_payload_signature';
  return undefined;
}

/** Who pays less, or to somebody else, and says so, is told what exactly is wrong by what was signed. */
function acceptsOurs(accepted: NonNullable<ReceivedPayment['accepted']>, price: Price): boolean {
  const ours = terms2Of(price);
  return accepted.asset.toLowerCase() === ours.asset.toLowerCase() && accepted.scheme === ours.scheme;
}
