import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { publicStatusesOf, publicStatusOf, statesShownAs } from '../../kernel/sagas/public-status.ts';

const minutes = 60_000;

export const swapSaga = defineSaga({
  name: 'swap',
  table: 'swaps',
  lane: "'MATIC'",
  about: `${amountSql('amount', 'asset')} || ' to ' || to_asset`,
  fixed: [
    'account_id',
    'asset',
    'to_asset',
    'amount',
    'fee',
    'gas_fee',
    'pool_gas',
    'quoted',
    'amount_out_min',
    'deadline',
    'swapper_id',
    'key_id',
  ],
  // In `returning` the owner has the amount back.
  inTransit: {
    kind: 'swaps_in_transit',
    atomic: "CASE WHEN status = 'returning' THEN 0 ELSE amount END",
    chain: "'MATIC'",
  },
  states: {
    queued: {
      meaning: 'the amount has left the balance; the treasury fills the wallet that swaps',
      publicName: 'queued',
      publicMeaning: 'The amount has left your balance, and the swap is prepared.',
      next: ['preparing', 'failed'],
      withinMs: 60 * minutes,
    },
    preparing: {
      meaning: 'the wallet approves the router for exactly this amount; native coin is unwrapped instead',
      publicName: 'queued',
      next: ['swapping', 'returning'],
      withinMs: 60 * minutes,
    },
    swapping: {
      meaning: 'the router swaps, and pays the treasury',
      publicName: 'swapping',
      publicMeaning: 'The amount is swapped on Polygon, for at least `amountOutMin`.',
      next: ['completed', 'returning'],
      withinMs: 60 * minutes,
    },
    completed: {
      meaning: 'exactly the amount that the chain paid out is in the balance',
      publicName: 'completed',
      publicMeaning:
        'Exactly the amount that the chain paid out is in your balance. The event `swap.completed` is sent.',
      next: [],
    },
    returning: {
      meaning: 'nothing was swapped and the amount is back in the balance; the tokens return to the treasury',
      publicName: 'failed',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    failed: {
      meaning: 'nothing was swapped; amount and fee are back, less the gas if the price moved',
      publicName: 'failed',
      publicMeaning:
        'The price moved by more than 1 %, or the deadline passed. Amount and fee are back in your balance, less the gas if the price moved after the swap began. The event `swap.failed` is sent.',
      next: [],
    },
  },
  checkpoints: [
    'swap.opened',
    'swap.served',
    ...stepCheckpoints('swap', 'fill'),
    'swap.filled',
    ...stepCheckpoints('swap', 'approve'),
    'swap.prepared',
    ...stepCheckpoints('swap', 'swap'),
    'swap.completed',
  ],
  rehearsal: {
    request: { path: '/swap/execute', body: { from: 'USDC', to: 'ETH', amount: '60' } },
    endsAs: 'completed',
  },
});

export type SwapStatus = keyof (typeof swapSaga)['states'];

export const publicStatuses = publicStatusesOf(swapSaga);

export type PublicStatus = (typeof publicStatuses)[number];

export const publicStatus = (status: SwapStatus): PublicStatus => publicStatusOf(swapSaga, status);

export const statesOf = (shown: PublicStatus): SwapStatus[] => statesShownAs(swapSaga, shown);
