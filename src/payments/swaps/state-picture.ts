import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const swapPicture: StatePicture = {
  caption: 'The way of a swap',
  way: [
    { state: 'queued', meaning: 'The amount has left your balance, and the swap is prepared.', mayFail: true },
    { state: 'swapping', meaning: 'It is swapped on Polygon, for at least amountOutMin.', mayFail: true },
    {
      state: 'completed',
      meaning: 'Exactly what the chain has paid out is in your balance. You are told by `swap.completed`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning:
      'The price moved by more than 1 %, or it was too late. The amount is back with the fee, less the gas if the price moved after it was begun. You are told by `swap.failed`.',
  },
};
