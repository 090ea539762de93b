import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const orderPicture: StatePicture = {
  caption: 'The way of an order',
  way: [
    { state: 'pending', meaning: 'The money is set aside, and the shop is asked to take the order.', mayFail: true },
    {
      state: 'completed',
      meaning: 'The shop has taken the order and is paid. The buyer is told by `order.completed`.',
    },
    { state: 'fulfilled', meaning: 'The shop has sent it. The buyer is told by `order.fulfilled`.' },
    {
      state: 'refunded',
      meaning: 'The shop has given back all that it was paid. The buyer is told by `order.refunded`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning:
      'The shop did not take it in time, the buyer cancelled it, or the shop wants to see the buyer (`needs_buyer`). All the money is back, the fee too. The buyer is told by `order.failed`.',
  },
};
