import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { stepCheckpoints } from '../steps/take-step.ts';

const minutes = 60_000;

/** Moves the deposits of one wallet, in a token without authorizations, to the treasury. */
export const coinSweepSaga = defineSaga({
  name: 'coin_sweep',
  table: 'coin_sweeps',
  lane: 'chain',
  about: `${amountSql('atomic', 'asset')} || ' of ' || address || ' on ' || chain`,
  fixed: ['chain', 'asset', 'wallet_id', 'address', 'treasury', 'atomic', 'gas_limit'],
  states: {
    lending: {
      meaning: 'the gas wallet lends the wallet what its transaction will cost',
      next: ['moving'],
      withinMs: 60 * minutes,
    },
    moving: {
      meaning: 'the wallet sends its deposits to the treasury',
      next: ['lending', 'complete', 'failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'the deposits have moved', next: [] },
    failed: { meaning: 'the transfer was refused or reverted; the deposits are swept again', next: [] },
  },
  withinMs: 180 * minutes,
  checkpoints: [
    'coin_sweep.opened',
    'coin_sweep.loan_planned',
    ...stepCheckpoints('coin_sweep', 'lend'),
    'coin_sweep.lent',
    'coin_sweep.moving',
    ...stepCheckpoints('coin_sweep', 'move'),
    'coin_sweep.completed',
  ],
  rehearsal: { deposit: 'ETH', endsAs: 'complete' },
});
