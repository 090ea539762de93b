import type { Caller } from '../kernel/http/define-route.ts';
import type { Authority } from '../ledger/posting.ts';
import type { Amount } from '../money/amount.ts';
import type { ChainId } from '../money/catalogue.ts';

export const operations = ['transfer', 'invoice', 'withdraw', 'bridge', 'swap', 'order', 'call'] as const;

export type Operation = (typeof operations)[number];

/** Who is paid, after resolving: an email or phone number means its account. */
export type Counterparty =
  | { readonly kind: 'account'; readonly accountId: bigint }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'shop'; readonly domain: string }
  | { readonly kind: 'endpoint'; readonly host: string };

/** A payment as rules and budgets see it. */
export interface Payment {
  readonly operation: Operation;
  /** Everything that leaves the owner's balance, fees and gas included. */
  readonly amount: Amount;
  /** Bridges and swaps have none. */
  readonly counterparty?: Counterparty;
  /** Where money leaves; for a bridge both ends. */
  readonly chains: readonly ChainId[];
}

/** Asks the caller's key and every key above it. */
export interface Consent {
  /**
   * The authority to post the payment with. Throws `key_frozen`, `rule_denied`, `approval_required` or
   * `rate_unavailable`. At once, without a promise, for an account that never had a policy.
   */
  forPayment(caller: Caller, payment: Payment): Authority | Promise<Authority>;
  /** For a posting of the caller that is no payment, such as a refund: only a frozen key is refused. */
  forOther(caller: Caller): Authority | Promise<Authority>;
}
