import type { Hex } from 'viem';

export interface WaitingPayment {
  readonly id: string;
  readonly payer: Hex;
  readonly nonce: Hex;
  readonly atomic: bigint;
  /** The call is served only after this payment has arrived. */
  readonly prepaid: boolean;
  readonly isUsed: boolean;
}

/** A payer's wallet at one block. */
export interface Wallet {
  readonly balance: bigint;
  /** Served or being served, and not arrived, whether submitted or not. */
  readonly credit: bigint;
  /** In other open settlements: the number and sum of all payments, and the sum of the prepaid ones. */
  readonly underWay: { readonly count: number; readonly atomic: bigint; readonly prepaid: bigint };
  readonly arrivals: number;
  /** A payment for a served call could not be collected. */
  readonly hasFailed: boolean;
}

/** `short`: the wallet cannot cover it. `used`: the nonce was used, so it has moved already or never will. */
export type Choice = 'submit' | 'later' | 'short' | 'used';

/** Submitted at once for a new wallet, and served on credit (`claim_payment`). Grows with each arrival. */
const mostOfStranger = 10;

/**
 * Decides for each payment whether to spend gas on it. Served payments come before prepaid ones, so a wallet that
 * cannot cover both pays what it was served. A wallet can be emptied between the check and the transaction, so the
 * possible loss grows only with what the wallet has paid. Of a wallet that has failed, one payment at a time is tried.
 */
export function choosePayments(
  payments: readonly WaitingPayment[],
  wallets: ReadonlyMap<Hex, Wallet>,
): ReadonlyMap<string, Choice> {
  const choices = new Map<string, Choice>();
  const taken = new Map<Hex, { count: number; served: bigint; prepaid: bigint }>();
  for (const payment of payments.toSorted((a, b) => Number(a.prepaid) - Number(b.prepaid))) {
    const wallet = wallets.get(payment.payer);
    if (wallet === undefined) throw new Error(`the wallet ${payment.payer} was not read`);
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
