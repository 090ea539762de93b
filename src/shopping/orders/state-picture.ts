import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const orderPicture: StatePicture = {
  caption: 'States of an order',
  way: [
    { state: 'pending', meaning: 'The money is held, and the shop is asked to accept the order.', mayFail: true },
    {
      state: 'completed',
      meaning: 'The shop accepted the order and is paid. Event for the buyer: `order.completed`.',
    },
    { state: 'fulfilled', meaning: 'The shop shipped the order. Event for the buyer: `order.fulfilled`.' },
    {
      state: 'refunded',
      meaning: 'The shop refunded the full amount. Event for the buyer: `order.refunded`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning:
      'The shop did not accept the order in time, the buyer cancelled it, or the shop requires the buyer to complete it (`needs_buyer`). All the money including the fee is refunded. Event for the buyer: `order.failed`.',
  },
};
