import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { publicStatusesOf, publicStatusOf, statesShownAs } from '../../kernel/sagas/public-status.ts';

const minutes = 60_000;

/** Money on its way to an address outside. */
export const withdrawalSaga = defineSaga({
  name: 'withdrawal',
  table: 'withdrawals',
  lane: 'chain',
  about: `${amountSql('net', 'asset')} || ' on ' || chain || ' to ' || address`,
  fixed: ['account_id', 'chain', 'asset', 'address', 'gross', 'fee', 'net', 'value', 'key_id'],
  inTransit: { kind: 'withdrawals_in_transit', atomic: 'gross', chain: 'chain' },
  states: {
    queued: {
      meaning: 'the balance is debited; the address is screened next',
      publicName: 'queued',
      next: ['awaiting_liquidity', 'held', 'cancelled'],
      withinMs: 10 * minutes,
    },
    held: {
      meaning: 'screening, a freeze or the hourly limit holds it until the operator decides',
      publicName: 'held',
      next: ['awaiting_liquidity', 'unwrapped', 'wrapping', 'failed', 'cancelled'],
      rests: true,
    },
    awaiting_liquidity: {
      meaning: 'waits in line for the tokens of the treasury',
      publicName: 'awaiting_liquidity',
      next: ['unwrapping', 'sending', 'held', 'failed', 'cancelled'],
      withinMs: 60 * minutes,
    },
    unwrapping: {
      meaning: 'native coin only: the step "unwrap" was or is about to be requested',
      publicName: 'sending',
      next: ['unwrapped', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    unwrapped: {
      meaning: 'native coin is in the treasury; address and account are checked again',
      publicName: 'sending',
      next: ['sending', 'wrapping', 'held'],
      withinMs: 10 * minutes,
    },
    sending: {
      meaning: 'the step "pay" was or is about to be requested from the wallet provider',
      publicName: 'sending',
      next: ['complete', 'wrapping', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    wrapping: {
      meaning: 'the recipient rejected native coin; the step "wrap" wraps it again for the refund',
      publicName: 'sending',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'the payment has arrived', publicName: 'complete', next: [] },
    failed: { meaning: 'the full amount was refunded', publicName: 'failed', next: [] },
    cancelled: {
      meaning: 'the owner cancelled it before it was sent; the full amount was refunded',
      publicName: 'cancelled',
      next: [],
    },
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

/** Unwrapping native coin is part of `sending`. */
export const publicStatuses = publicStatusesOf(withdrawalSaga);

export type PublicStatus = (typeof publicStatuses)[number];

export const publicStatus = (status: WithdrawalStatus): PublicStatus => publicStatusOf(withdrawalSaga, status);

/** Every state that the API shows as this status. */
export const statesOf = (shown: PublicStatus): WithdrawalStatus[] => statesShownAs(withdrawalSaga, shown);
