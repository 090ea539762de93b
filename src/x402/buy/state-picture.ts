import type { StatePicture } from '../../kernel/http/openapi.ts';

/** The states in the API reference. */
export const purchasePicture: StatePicture = {
  caption: 'States of a payment',
  way: [
    {
      state: 'pending',
      meaning:
        'The price was taken from your balance and is held; the seller can collect it for a few minutes at most.',
      mayFail: true,
    },
    {
      state: 'paid',
      meaning: 'The chain shows that the seller collected exactly the price. Event: `purchase.paid`.',
    },
  ],
  failed: {
    state: 'returned',
    meaning:
      'The payment expired before the seller collected it, and the price was refunded. Event: `purchase.returned`.',
  },
};
