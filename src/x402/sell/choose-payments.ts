import type { Hex } from 'viem';

/** A payment that waits to be submitted. */
export interface WaitingPayment {
  readonly id: string;
  readonly payer: Hex;
  readonly nonce: Hex;
  readonly atomic: bigint;
  /** It is served only when it has arrived. */
  readonly prepaid: boolean;
  /** The chain says that its nonce was used. */
  readonly isUsed: boolean;
}

/** What is known of the wallet that payments are from, at one block. */
export interface Wallet {
  readonly balance: bigint;
  /** What it was served or is being served and has not moved, whether submitted or not. */
  readonly credit: bigint;
  /** What of it is under way in other transactions and has not moved: of all payments, and of those that were not served. */
  readonly underWay: { readonly count: number; readonly atomic: bigint; readonly prepaid: bigint };
  /** How many payments have arrived from it so far. */
  readonly arrivals: number;
  /** A payment that it was served for cannot be collected. */
  readonly hasFailed: boolean;
}

/**
 * `submit` it now, leave it for `later`, the wallet is too `short` for it, or it was `used`: it has moved already, or never will.
 */
export type Choice = 'submit' | 'later' | 'short' | 'used';

/** So many payments of a wallet that has paid nothing so far are submitted at once, and as many are served on credit (`claim_payment`); a wallet that has paid may have more. */
const mostOfStranger = 10;

/**
 * Decides for each payment whether to spend gas on it. What was served comes before what was not, and a wallet that does not hold
 * enough for both pays what it was served. A wallet can be emptied between our look and our transaction, so what that can cost us
 * grows with what the wallet has paid, and of one that has failed to pay a single payment is tried.
 */
export function choosePayments(
  payments: readonly WaitingPayment[],
  wallets: ReadonlyMap<Hex, Wallet>,
): ReadonlyMap<string, Choice> {
  const choices = new Map<string, Choice>();
  const taken = new Map<Hex, { count: number; served: bigint; prepaid: bigint }>();
  for (const payment of payments.toSorted((a, b) => Number(a.prepaid) - Number(b.prepaid))) {
    const wallet = wallets.get(payment.payer);
    if (wallet === undefined) throw new Error(`nothing is known of the wallet ${payment.payer}`);
    const before = taken.get(payment.payer) ?? { count: 0, served: 0n, prepaid: 0n };
    const choice = choose(payment, wallet, before);
    choices.set(payment.id, choice);
    if (choice !== 'submit') continue;
    const { prepaid, atomic } = payment;
    taken.set(payment.payer, {
      count: before.count + 1,
      served: before.served + (prepaid ? 0n : atomic),
      prepaid: before.prepaid + (prepaid ? atomic : 0n),
    });
  }
  return choices;
}

function choose(
  { atomic, prepaid, isUsed }: WaitingPayment,
  { balance, credit, underWay, arrivals, hasFailed }: Wallet,
  taken: { readonly count: number; readonly served: bigint; readonly prepaid: bigint },
): Choice {
  if (isUsed) return 'used';
  const promised = prepaid ? credit + underWay.prepaid + taken.prepaid : underWay.atomic + taken.served + taken.prepaid;
  if (promised + atomic > balance) return 'short';
  const most = hasFailed ? 1 : mostOfStranger + arrivals;
  return underWay.count + taken.count < most ? 'submit' : 'later';
}
