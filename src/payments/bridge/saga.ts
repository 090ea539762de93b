import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { publicStatusesOf, publicStatusOf } from '../../kernel/sagas/public-status.ts';

const minutes = 60_000;

export const bridgeSaga = defineSaga({
  name: 'bridge',
  table: 'bridges',
  lane: `CASE WHEN status IN ('pending', 'approving', 'burning', 'returning') THEN from_chain
              WHEN status = 'waiting_attestation' THEN 'attestation' ELSE to_chain END`,
  ownLanes: ['attestation'],
  // A refused mint alternates between attestation and minting, each within its own bound.
  withinMs: 180 * minutes,
  about: `${amountSql('amount + gas_fee', 'asset')} || ' from ' || from_chain || ' to ' || to_chain`,
  fixed: ['account_id', 'from_chain', 'to_chain', 'asset', 'amount', 'gas_fee', 'origin', 'burner_id', 'key_id'],
  // After the burn the amount is owed on the destination chain. In `returning` its owner has it back.
  inTransit: {
    kind: 'bridges_in_transit',
    atomic: `CASE WHEN status = 'returning' THEN 0
                  WHEN status IN ('waiting_attestation', 'minting') THEN amount ELSE amount + gas_fee END`,
    chain: "CASE WHEN status IN ('waiting_attestation', 'minting') THEN to_chain ELSE from_chain END",
  },
  states: {
    pending: {
      meaning: 'the amount has left the balance; the treasury fills the wallet that burns',
      publicName: 'pending',
      publicMeaning: 'The amount has left your balance on the source chain.',
      next: ['approving', 'failed'],
      withinMs: 60 * minutes,
    },
    approving: {
      meaning: 'the wallet that burns approves the protocol for exactly this amount',
      publicName: 'approving',
      publicMeaning: 'The protocol is approved to take exactly this amount.',
      next: ['burning', 'returning'],
      withinMs: 60 * minutes,
    },
    burning: {
      meaning: 'the amount is burned on the source chain',
      publicName: 'burning',
      publicMeaning: 'The amount is burned on the source chain.',
      next: ['waiting_attestation', 'returning'],
      withinMs: 60 * minutes,
    },
    waiting_attestation: {
      meaning: 'the attestation service waits until the burn is final',
      publicName: 'waiting_attestation',
      publicMeaning: 'The burn becomes final. This takes the longest, and from here on the transfer cannot fail.',
      next: ['minting', 'burning'],
      withinMs: 60 * minutes,
    },
    minting: {
      meaning: 'the amount is minted to the treasury on the destination chain',
      publicName: 'minting',
      publicMeaning: 'The amount is minted on the destination chain.',
      next: ['completed', 'waiting_attestation'],
      withinMs: 60 * minutes,
    },
    completed: {
      meaning: 'the amount is in the balance on the destination chain',
      publicName: 'completed',
      publicMeaning: 'The amount is in your balance on the destination chain. The event `bridge.completed` is sent.',
      next: [],
    },
    returning: {
      meaning: 'nothing was burned and the amount is back in the balance; the tokens return to the treasury',
      publicName: 'failed',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    failed: {
      meaning: 'nothing was burned, and the whole amount is back in the balance',
      publicName: 'failed',
      publicMeaning:
        'Nothing was burned, and the whole amount is back in your balance. The event `bridge.failed` is sent.',
      next: [],
    },
  },
  checkpoints: [
    'bridge.opened',
    'bridge.served',
    ...stepCheckpoints('bridge', 'fill'),
    'bridge.filled',
    ...stepCheckpoints('bridge', 'approve'),
    'bridge.approved',
    ...stepCheckpoints('bridge', 'burn'),
    'bridge.burnt',
    'bridge.attested',
    ...stepCheckpoints('bridge', 'mint'),
    'bridge.completed',
  ],
  rehearsal: {
    request: { path: '/cross-chain/transfer', body: { from: 'MATIC', to: 'BASE', amount: '60' } },
    endsAs: 'completed',
  },
});

export type BridgeStatus = keyof (typeof bridgeSaga)['states'];

export const publicStatuses = publicStatusesOf(bridgeSaga);

export type PublicStatus = (typeof publicStatuses)[number];

export const publicStatus = (status: BridgeStatus): PublicStatus => publicStatusOf(bridgeSaga, status);
