import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';

const minutes = 60_000;

/** One asset on its way into another. */
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
  ],
  // What is being returned to the treasury is its owner's again.
  inTransit: {
    kind: 'swaps_in_transit',
    atomic: "CASE WHEN status = 'returning' THEN 0 ELSE amount END",
    chain: "'MATIC'",
  },
  states: {
    queued: {
      meaning: 'the amount has left the balance; the treasury fills the wallet that swaps',
      next: ['preparing', 'failed'],
      withinMs: 60 * minutes,
    },
    preparing: {
      meaning: 'the router is allowed to take exactly this amount; native coin is unwrapped instead',
      next: ['swapping', 'returning'],
      withinMs: 60 * minutes,
    },
    swapping: {
      meaning: 'it is swapped, and what comes out goes to the treasury',
      next: ['completed', 'returning'],
      withinMs: 60 * minutes,
    },
    returning: {
      meaning: 'it was not swapped and is back in the balance; its tokens go back to the treasury',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    completed: { meaning: 'exactly what the chain has paid out is in the balance', next: [] },
    failed: {
      meaning: 'nothing was swapped; the amount is back with the fee, less the gas if the price moved',
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

/** What its owner is told: what is being prepared waits, and what is being returned has failed and is back. */
export const publicStatuses = ['queued', 'swapping', 'completed', 'failed'] as const satisfies readonly SwapStatus[];

export type PublicStatus = (typeof publicStatuses)[number];

export function publicStatus(status: SwapStatus): PublicStatus {
  if (status === 'preparing') return 'queued';
  return status === 'returning' ? 'failed' : status;
}

/** The states of which its owner is told this one. */
export function statusesShownAs(shown: PublicStatus): SwapStatus[] {
  return (Object.keys(swapSaga.states) as SwapStatus[]).filter((status) => publicStatus(status) === shown);
}
