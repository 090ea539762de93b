import { describeMoney, detailsOf, type EventType, figure } from '../../ledger/event-types.ts';
import { subtract } from '../../money/amount.ts';

export const bridgeEvents: readonly EventType[] = [
  {
    name: 'bridge.completed',
    describe(posting) {
      const { amount, fee } = posting;
      return {
        ...describeMoney(posting),
        // The gas of both chains and the protocol's fee.
        ...(fee.atomic > 0n && { fee: figure(fee) }),
        received: figure(subtract(amount, fee)),
        ...detailsOf(posting),
      };
    },
  },
  { name: 'bridge.failed' },
];
