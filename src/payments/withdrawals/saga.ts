import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';

const minutes = 60_000;

/** Money on its way to an address outside. */
export const withdrawalSaga = defineSaga({
  name: 'withdrawal',
  table: 'withdrawals',
  lane: 'chain',
  about: `${amountSql('net', 'asset')} || ' on ' || chain || ' to ' || address`,
  fixed: ['account_id', 'chain', 'asset', 'address', 'gross', 'fee', 'net', 'value'],
  inTransit: { kind: 'withdrawals_in_transit', atomic: 'gross', chain: 'chain' },
  states: {
    queued: {
      meaning: 'the balance is debited; the address is screened next',
      next: ['awaiting_liquidity', 'held', 'cancelled'],
      withinMs: 10 * minutes,
    },
    held: {
      meaning: 'screening, a freeze or the hourly limit holds it until the operator decides',
      next: ['awaiting_liquidity', 'unwrapped', 'wrapping', 'failed', 'cancelled'],
      rests: true,
    },
    awaiting_liquidity: {
      meaning: 'waits in line for the tokens of the treasury',
      next: ['unwrapping', 'sending', 'held', 'failed', 'cancelled'],
      withinMs: 60 * minutes,
    },
    unwrapping: {
      meaning: 'native coin only: the step "unwrap" was or is about to be requested',
      next: ['unwrapped', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    unwrapped: {
      meaning: 'native coin is in the treasury; address and account are checked again',
      next: ['sending', 'wrapping', 'held'],
      withinMs: 10 * minutes,
    },
    sending: {
      meaning: 'the step "pay" was or is about to be requested from the wallet provider',
      next: ['complete', 'wrapping', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    wrapping: {
      meaning: 'the recipient rejected native coin; the step "wrap" wraps it again for the refund',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'the payment has arrived', next: [] },
    failed: { meaning: 'the full amount was refunded', next: [] },
    cancelled: { meaning: 'the owner cancelled it before it was sent; the full amount was refunded', next: [] },
  },
  checkpoints: [
    'withdrawal.opened',
    'withdrawal.screened',
    'withdrawal.served',
    'withdrawal.reserved',
    ...stepCheckpoints('withdrawal', 'pay'),
    'withdrawal.completed',
  ],
  rehearsal: {
    request: { path: '/circle/withdraw', body: { amount: 60, address: '{outside}' } },
    endsAs: 'complete',
  },
  otherRehearsals: [
    {
      request: { path: '/circle/withdraw', body: { amount: '60', currency: 'MATIC', address: '{outside}' } },
      funded: 'MATIC',
      endsAs: 'complete',
      checkpoints: [
        ...stepCheckpoints('withdrawal', 'unwrap'),
        'withdrawal.unwrapped',
        'withdrawal.looked_at',
        ...stepCheckpoints('withdrawal', 'pay'),
      ],
    },
  ],
});

export type WithdrawalStatus = keyof (typeof withdrawalSaga)['states'];

export const withdrawalStatuses = Object.keys(withdrawalSaga.states) as [WithdrawalStatus, ...WithdrawalStatus[]];

/** The statuses of the API. Unwrapping native coin is part of `sending`. */
export const publicStatuses = [
  'queued',
  'held',
  'awaiting_liquidity',
  'sending',
  'complete',
  'failed',
  'cancelled',
] as const;

export type PublicStatus = (typeof publicStatuses)[number];

export function publicStatus(status: WithdrawalStatus): PublicStatus {
  return publicStatuses.find((shown) => shown === status) ?? 'sending';
}

/** Every state that the API shows as this status. */
export function statesOf(shown: PublicStatus): WithdrawalStatus[] {
  return withdrawalStatuses.filter((state) => publicStatus(state) === shown);
}
