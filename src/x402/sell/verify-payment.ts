import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';
import type { RecoverPayer } from './recover-payer.ts';
import { type Price, terms2Of } from './terms.ts';

export interface Verifying {
  readonly price: Price;
  readonly recover: RecoverPayer;
  /** In seconds since the epoch. */
  readonly now: bigint;
  /** How long it must still be valid, so that it can be settled. */
  readonly leastSecondsLeft: bigint;
}

/** An unpaid payment is retried at our expense until it expires, so one without an expiry would cost for ever. */
const mostSecondsLeft = 3n * 3_600n;

/** Checks that need no chain. Undefined when the payment passes. */
export function verifyPayment(payment: ReceivedPayment, verifying: Verifying): Reason | undefined {
  const { authorization, accepted } = payment;
  const { price, recover, now, leastSecondsLeft } = verifying;
  if (accepted !== undefined && !acceptsOurs(accepted, price)) return 'invalid_payment_requirements';
  if (authorization.to.toLowerCase() !== price.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch';
  // A zero amount is never a payment, even when the price (a cleared debt) is zero.
  if (authorization.atomic !== price.amount.atomic || authorization.atomic === 0n)
    return 'invalid_exact_evm_payload_authorization_value_mismatch';
  if (authorization.validAfter >= now) return 'invalid_exact_evm_payload_authorization_valid_after';
  const secondsLeft = authorization.validBefore - now;
  if (secondsLeft < leastSecondsLeft || secondsLeft > mostSecondsLeft)
    return 'invalid_exact_evm_payload_authorization_valid_before';
  if (recover(authorization) !== authorization.from.toLowerCase()) return 'invalid_exact_evm_payload_signature';
  return undefined;
}

/** Amount and recipient are checked against the signature, for a precise error. */
function acceptsOurs(accepted: NonNullable<ReceivedPayment['accepted']>, price: Price): boolean {
  const ours = terms2Of(price);
  return accepted.asset.toLowerCase() === ours.asset.toLowerCase() && accepted.scheme === ours.scheme;
}
