import type { Hex } from 'viem';
import type { Asset } from '../../money/catalogue.ts';

/** A link that a payment may complete. */
export interface OpenLink {
  readonly id: string;
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  /** Its time is over, and only this transaction, which was seen before, may still complete it. */
  readonly onlyFor: Hex | undefined;
  /** A card company says that it has sent the money for it. */
  readonly isSentByCard: boolean;
}

/** A payment to an account, final or not. */
export interface Payment {
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly txHash: Hex;
}

/**
 * Which payment is for which link, in the order of the chain: of the links of its currency that it covers, one for exactly its amount;
 * otherwise one that a card company has sent money for; otherwise any. Of several, the oldest. A payment that covers none is for none,
 * and several that are too small are never added up. The same rule decides what a page shows while a payment is on its way and what is
 * completed when it is credited.
 */
export function matchArrivals<Link extends OpenLink, Arrived extends Payment>(
  oldestFirst: readonly Link[],
  payments: readonly Arrived[],
): ReadonlyMap<Link, Arrived> {
  const matched = new Map<Link, Arrived>();
  for (const payment of payments) {
    const fitting = oldestFirst.filter((link) => !matched.has(link) && covers(payment, link));
    const open = fitting.filter(({ onlyFor }) => onlyFor === undefined);
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
