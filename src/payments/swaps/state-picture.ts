import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const swapPicture: StatePicture = {
  caption: 'States of a swap',
  way: [
    {
      state: 'queued',
      meaning: 'The amount was taken from your balance, and the swap is being prepared.',
      mayFail: true,
    },
    { state: 'swapping', meaning: 'The swap is executing on Polygon, for at least `amountOutMin`.', mayFail: true },
    {
      state: 'completed',
      meaning: 'The exact amount paid out on chain is in your balance. Event: `swap.completed`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning:
      'The price moved by more than 1 %, or the swap was not executed in time. Amount and fee are refunded, minus gas if the price moved after the swap was submitted. Event: `swap.failed`.',
  },
};
