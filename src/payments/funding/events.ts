import type { CreditedDeposit } from '../../custody/watch/on-deposits.ts';
import { type EventType, figure } from '../../ledger/event-types.ts';
import { amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { OpenLink } from './match-arrivals.ts';

export const fundingEvents: readonly EventType[] = [{ name: 'funding.completed' }];

export function describeCompletion(
  link: OpenLink,
  chain: ChainId,
  deposit: CreditedDeposit,
): Readonly<Record<string, unknown>> {
  const { asset, atomic, txHash, transferId, id: depositId } = deposit;
  return {
    id: link.id,
    transferId,
    amount: figure(amountOf(asset, atomic)),
    currency: asset,
    asked: figure(amountOf(asset, link.atomic)),
    chain,
    txHash,
    depositId,
  };
}
