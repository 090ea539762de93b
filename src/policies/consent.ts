import type { Queryable } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { type DuplicateGuard, type NewestLike, refuseRepeated } from '../kernel/http/duplicate-guard.ts';
import type { Authority } from '../ledger/posting.ts';
import type { Amount } from '../money/amount.ts';
import type { ChainId } from '../money/catalogue.ts';

export const operations = ['transfer', 'invoice', 'withdraw', 'bridge', 'swap', 'order', 'call'] as const;

export type Operation = (typeof operations)[number];

/** Who is paid, after resolving: an email or phone number means its account. */
export type Counterparty =
  | { readonly kind: 'account'; readonly accountId: bigint }
  | { readonly kind: 'address'; readonly address: string }
  /** `owner` is the account that has proved the domain. */
  | { readonly kind: 'shop'; readonly domain: string; readonly owner: bigint | null }
  | { readonly kind: 'endpoint'; readonly host: string };

/** What the owner is shown about a payment, beside its amount and who is paid. */
export interface Fact {
  readonly label: string;
  readonly text: string;
  /** Somebody else's words, which are shown in quotes. */
  readonly quoted?: true;
  /** For what changes all the time, such as a price: `text` promises at least `least`, and `actual` is what it is now. */
  readonly promise?: { readonly least: bigint; readonly actual: bigint };
}

/** A payment as rules and budgets see it. */
export interface Payment {
  readonly operation: Operation;
  /** Everything that leaves the owner's balance, fees and gas included. */
  readonly amount: Amount;
  /** Bridges and swaps have none. */
  readonly counterparty?: Counterparty;
  /** Where money leaves; for a bridge both ends. */
  readonly chains: readonly ChainId[];
  /** Only what the seller may ask for at most. The payment itself is judged later. */
  readonly isMost?: true;
  /** Asked only where the owner is. */
  readonly facts?: () => readonly Fact[];
  /** Throws `possible_duplicate`. Asked only where the owner is. */
  readonly refuseRepeated?: () => Promise<void>;
}

/** The owner is not asked about a payment that the guard of its request would refuse. The commit has the last word. */
export function guarded(
  payment: Payment,
  {
    db,
    guard,
    newest,
  }: { readonly db: Queryable; readonly guard: DuplicateGuard | undefined; readonly newest: NewestLike },
): Payment {
  if (guard === undefined) return payment;
  return { ...payment, refuseRepeated: async () => refuseRepeated(guard, await newest(db)) };
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
