import type { SignedAuthorization } from '../../chains/authorization.ts';
import { decodeHeader, headerNames } from '../wire/header.ts';
import {
  chainOfNetwork,
  exactPayload,
  type Payment1,
  type Payment2,
  payment1,
  payment2,
  type Terms2,
  toAuthorization,
  type X402Version,
} from '../wire/messages.ts';
import { nanoErrors } from './errors.ts';
import type { Reason } from './reasons.ts';
import type { RecoverPayer } from './recover-payer.ts';
import { type Price, paymentChain, terms2Of } from './terms.ts';

interface Verifying {
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
export async function verifyPayment(payment: ReceivedPayment, verifying: Verifying): Promise<Reason | undefined> {
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
  if ((await recover(authorization)) !== authorization.from.toLowerCase()) return 'invalid_exact_evm_payload_signature';
  return undefined;
}

/** Amount and recipient are checked against the signature, for a precise error. */
function acceptsOurs(accepted: NonNullable<ReceivedPayment['accepted']>, price: Price): boolean {
  const ours = terms2Of(price);
  return accepted.asset.toLowerCase() === ours.asset.toLowerCase() && accepted.scheme === ours.scheme;
}

/** A payment as received; only its form was checked. */
export interface ReceivedPayment {
  readonly version: X402Version;
  readonly authorization: SignedAuthorization & { readonly validAfter: bigint };
  /** Version 1 does not repeat the accepted terms. */
  readonly accepted: Terms2 | undefined;
  /** From the extension `payment-identifier`. */
  readonly identifier: string | undefined;
  /** Unchanged, for an external facilitator. */
  readonly whole: Payment1 | Payment2;
}

export type ReadPayment = ReceivedPayment | { readonly refused: Reason };

const mostCharacters = 8_192;

/**
 * Prefers version 2 if the request carries both; undefined when it carries none. A malformed payment is a 400; an
 * unsupported scheme or network is refused like a payment.
 */
export function readPayment(header: (name: string) => string | undefined): ReadPayment | undefined {
  const second = header(headerNames[2].payment);
  if (second !== undefined) return read(second, 2);
  const first = header(headerNames[1].payment);
  return first === undefined ? undefined : read(first, 1);
}

function read(text: string, version: X402Version): ReadPayment {
  const decoded = text.length > mostCharacters ? undefined : decodeHeader(text);
  if (typeof decoded !== 'object' || decoded === null) throw nanoErrors.invalid_payload();
  if ((decoded as { x402Version?: unknown }).x402Version !== version) throw nanoErrors.invalid_x402_version();
  const outer = (version === 1 ? payment1 : payment2).safeParse(decoded);
  if (!outer.success) throw nanoErrors.invalid_payload();
  const whole = outer.data;
  const { scheme, network } = 'accepted' in whole ? whole.accepted : whole;
  if (scheme !== 'exact') return { refused: 'unsupported_scheme' };
  if (chainOfNetwork(network, version) !== paymentChain) return { refused: 'invalid_network' };
  const inner = exactPayload.safeParse(whole.payload);
  if (!inner.success) throw nanoErrors.invalid_payload();
  return {
    version,
    accepted: 'accepted' in whole ? whole.accepted : undefined,
    identifier: 'accepted' in whole ? readIdentifier(whole.extensions) : undefined,
    whole,
    authorization: toAuthorization(inner.data),
  };
}

/** As the extension's specification says. */
const identifierForm = /^[A-Za-z0-9_-]{16,128}$/;

function readIdentifier(extensions: Payment2['extensions']): string | undefined {
  const extension = extensions?.['payment-identifier'] as { info?: { id?: unknown } } | undefined;
  const id = extension?.info?.id;
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || !identifierForm.test(id)) {
    throw nanoErrors.invalid_payload(
      'The payment-identifier must be 16 to 128 letters, digits, hyphens or underscores.',
    );
  }
  return id;
}
