import { describeMoney, detailsOf, type EventType, figure } from '../../ledger/event-types.ts';
import { subtract } from '../../money/amount.ts';

export const bridgeEvents: readonly EventType[] = [
  {
    name: 'bridge.completed',
    describe(posting) {
      const { amount, fee } = posting;
      return {
        ...describeMoney(posting),
        // The gas of both ends, and what the protocol has kept.
        ...(fee.atomic > 0n && { fee: figure(fee) }),
        received: figure(subtract(amount, fee)),
        ...detailsOf(posting),
      };
    },
  },
  // What failed comes back whole.
  { name: 'bridge.failed' },
];
