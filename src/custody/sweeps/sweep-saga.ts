import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { stepCheckpoints } from '../steps/take-step.ts';

const minutes = 60_000;

/** Deposits on their way to the treasury. */
export const sweepSaga = defineSaga({
  name: 'sweep',
  table: 'sweeps',
  lane: 'chain',
  about: `coalesce((SELECT ${amountSql('sum(i.atomic)', 'asset')} || ' of ' || count(*) || ' wallets'
      FROM sweep_items i WHERE i.sweep_id = sweeps.id), asset) || ' on ' || chain`,
  fixed: ['chain', 'asset'],
  states: {
    signed: {
      meaning: 'each wallet has signed; no signature was submitted yet',
      next: ['sending', 'complete', 'failed'],
      withinMs: 60 * minutes,
    },
    sending: {
      meaning: 'the gas wallet submits the signatures, or waits until they expire',
      next: ['complete', 'failed'],
      withinMs: 180 * minutes,
    },
    complete: { meaning: 'deposits of at least one wallet have moved', next: [] },
    failed: { meaning: 'none has moved, and none of the signatures can be used any more', next: [] },
  },
  checkpoints: [
    'sweep.chosen',
    'sweep.signed',
    'sweep.written',
    'sweep.sending',
    ...stepCheckpoints('sweep', 'submit'),
    'sweep.judged',
    'sweep.settled',
  ],
  rehearsal: { deposit: 'USDC', endsAs: 'complete' },
});
