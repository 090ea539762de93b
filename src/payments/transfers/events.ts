import { describeMoney, type EventType, figure, type PartyOf } from '../../ledger/event-types.ts';
import type { Posted } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';

export const transferEvents: readonly EventType[] = [
  { name: 'payment.sent', describe: describePayment },
  { name: 'payment.received', describe: describePayment },
];

/** Both sides are told the same, by the names that they know each other under. */
function describePayment(posting: Posted, partyOf: PartyOf): Readonly<Record<string, unknown>> {
  const { amount, fee, description } = posting;
  return {
    ...describeMoney(posting),
    fee: figure(fee),
    recipientAmount: figure(subtract(amount, fee)),
    sender: partyOf(posting.senderId),
    recipient: partyOf(posting.recipientId),
    ...(description !== null && { description }),
  };
}
