import type { Hex } from 'viem';
import type { Asset } from '../../money/catalogue.ts';

export interface OpenLink {
  readonly id: string;
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  /** The link has expired; only this transaction, seen before, may still complete it. */
  readonly onlyFor: Hex | null;
  readonly isSentByCard: boolean;
}

export interface Payment {
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly txHash: Hex;
}

/**
 * Matches payments with links, in chain order. Of the links that a payment covers, it completes one for exactly its
 * amount, otherwise one with a sent card payment, otherwise any; the oldest first. Payments that cover no link match
 * none and are never added up. Pages and crediting share this rule, so a page never announces what is not completed.
 */
export function matchArrivals<Link extends OpenLink, Arrived extends Payment>(
  oldestFirst: readonly Link[],
  payments: readonly Arrived[],
): ReadonlyMap<Link, Arrived> {
  const matched = new Map<Link, Arrived>();
  for (const payment of payments) {
    const fitting = oldestFirst.filter((link) => !matched.has(link) && covers(payment, link));
    const open = fitting.filter(({ onlyFor }) => onlyFor === null);
    const exact = open.filter(({ atomic }) => atomic === payment.atomic);
    const link =
      fitting.find(({ onlyFor }) => onlyFor === payment.txHash) ??
      exact.find(({ isSentByCard }) => isSentByCard) ??
      exact[0] ??
      open.find(({ isSentByCard }) => isSentByCard) ??
      open[0];
    if (link !== undefined) matched.set(link, payment);
  }
  return matched;
}

function covers(payment: Payment, link: OpenLink): boolean {
  return payment.accountId === link.accountId && payment.asset === link.asset && payment.atomic >= link.atomic;
}
