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
      meaning: 'the money has left the balance; nobody was asked yet',
      next: ['awaiting_liquidity', 'held', 'cancelled'],
      withinMs: 10 * minutes,
    },
    held: {
      meaning: 'the address is suspicious, the account is frozen or too much leaves: a person decides',
      next: ['awaiting_liquidity', 'unwrapped', 'wrapping', 'failed', 'cancelled'],
      rests: true,
    },
    awaiting_liquidity: {
      meaning: 'cleared, and sent as soon as the treasury holds enough',
      next: ['unwrapping', 'sending', 'held', 'failed', 'cancelled'],
      withinMs: 60 * minutes,
    },
    unwrapping: {
      meaning: 'native coin only: the treasury was, or is about to be, asked for the step "unwrap"',
      next: ['unwrapped', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    unwrapped: {
      meaning: 'it lies in the treasury as native coin, and is looked at once more',
      next: ['sending', 'wrapping', 'held'],
      withinMs: 10 * minutes,
    },
    sending: {
      meaning: 'the wallet provider was, or is about to be, asked for the step "pay"',
      next: ['complete', 'wrapping', 'held', 'failed'],
      withinMs: 60 * minutes,
    },
    wrapping: {
      meaning: 'native coin that nobody took is wrapped again by the step "wrap", so that it can be given back',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'it has arrived', next: [] },
    failed: { meaning: 'the whole amount is back where it came from', next: [] },
    cancelled: { meaning: 'its owner has called it back before anything was sent, and has the whole amount', next: [] },
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

/** What its owner is told: that native coin is unwrapped on the way is part of sending it. */
export const shownStatuses = [
  'queued',
  'held',
  'awaiting_liquidity',
  'sending',
  'complete',
  'failed',
  'cancelled',
] as const;

export type ShownStatus = (typeof shownStatuses)[number];

export function toShownStatus(status: WithdrawalStatus): ShownStatus {
  return shownStatuses.find((shown) => shown === status) ?? 'sending';
}

/** Every state that its owner is told of by one name. */
export function statesShownAs(shown: ShownStatus): WithdrawalStatus[] {
  return withdrawalStatuses.filter((state) => toShownStatus(state) === shown);
}
