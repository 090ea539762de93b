import { describeMoney, detailsOf, type EventType, figure } from '../../ledger/event-types.ts';
import type { Posted } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';

export const withdrawalEvents: readonly EventType[] = [
  { name: 'withdrawal.created', describe: describeWithdrawal },
  { name: 'withdrawal.completed', describe: describeWithdrawal },
  // Failed and cancelled withdrawals are refunded in full, so they have no fee and no net amount.
  { name: 'withdrawal.failed' },
  { name: 'withdrawal.cancelled' },
];

function describeWithdrawal(posting: Posted): Readonly<Record<string, unknown>> {
  const { amount, fee } = posting;
  return {
    ...describeMoney(posting),
    fee: figure(fee),
    net: figure(subtract(amount, fee)),
    ...detailsOf(posting),
  };
}
