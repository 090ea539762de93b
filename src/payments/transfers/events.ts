import { describeMoney, type EventType, figure, type PartyOf } from '../../ledger/event-types.ts';
import type { Posted } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';

export const transferEvents: readonly EventType[] = [
  { name: 'payment.sent', describe: describePayment },
  { name: 'payment.received', describe: describePayment },
];

/** Sender and recipient get the same payload, with the names they know each other by. */
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
