import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const purchasePicture: StatePicture = {
  caption: 'The way of the money',
  way: [
    {
      state: 'pending',
      meaning: 'The price has left your balance and is held; the seller can take it for a few minutes at most.',
      mayFail: true,
    },
    {
      state: 'paid',
      meaning: 'The chain shows that the seller has taken exactly the price. You are told by `purchase.paid`.',
    },
  ],
  failed: {
    state: 'returned',
    meaning: 'The seller has not taken it, and cannot any more. It is back. You are told by `purchase.returned`.',
  },
};
