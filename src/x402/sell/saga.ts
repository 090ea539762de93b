import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';

const minutes = 60_000;

/** Payments for calls on their way into the treasury. */
export const settlementSaga = defineSaga({
  name: 'settlement',
  table: 'settlements',
  lane: 'chain',
  about: `coalesce((SELECT ${amountSql('sum(c.atomic)', 'settlements.asset')} || ' of ' || count(*) || ' payments'
      FROM payment_claims c WHERE c.settlement_id = settlements.id), asset) || ' on ' || chain`,
  fixed: ['chain', 'asset', 'wallet_id'],
  states: {
    submitting: {
      meaning: 'the settlement wallet submits the payments in one transaction',
      next: ['complete', 'failed'],
      withinMs: 30 * minutes,
    },
    complete: { meaning: 'at least one payment has arrived; the others are retried or written off', next: [] },
    failed: { meaning: 'no payment has arrived; payments that are still valid are retried', next: [] },
  },
  checkpoints: [
    'nano.claimed',
    'nano.served',
    'settlement.opened',
    ...stepCheckpoints('settlement', 'submit'),
    'settlement.judged',
    'settlement.settled',
  ],
  rehearsal: { call: '/nano/quote?amount=50&currency=USDC&action=transfer', endsAs: 'complete' },
});
