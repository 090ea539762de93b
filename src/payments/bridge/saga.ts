import { stepCheckpoints } from '../../custody/steps/take-step.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';

const minutes = 60_000;

/** USDC on its way from one chain to another. */
export const bridgeSaga = defineSaga({
  name: 'bridge',
  table: 'bridges',
  lane: `CASE WHEN status IN ('pending', 'approving', 'burning', 'returning') THEN from_chain
              WHEN status = 'waiting_attestation' THEN 'attestation' ELSE to_chain END`,
  ownLanes: ['attestation'],
  // A mint that is refused is attested and delivered again for ever, and none of that takes long.
  withinMs: 180 * minutes,
  about: `${amountSql('amount + gas_fee', 'asset')} || ' from ' || from_chain || ' to ' || to_chain`,
  fixed: ['account_id', 'from_chain', 'to_chain', 'asset', 'amount', 'gas_fee', 'origin', 'burner_id'],
  // From the burn on it is owed on the other chain; what is being returned to the treasury is its owner's again.
  inTransit: {
    kind: 'bridges_in_transit',
    atomic: `CASE WHEN status = 'returning' THEN 0
                  WHEN status IN ('waiting_attestation', 'minting') THEN amount ELSE amount + gas_fee END`,
    chain: "CASE WHEN status IN ('waiting_attestation', 'minting') THEN to_chain ELSE from_chain END",
  },
  states: {
    pending: {
      meaning: 'the money has left the balance; the treasury fills the wallet that burns',
      next: ['approving', 'failed'],
      withinMs: 60 * minutes,
    },
    approving: {
      meaning: 'the wallet that burns allows the protocol to take exactly this amount',
      next: ['burning', 'returning'],
      withinMs: 60 * minutes,
    },
    burning: {
      meaning: 'it is burnt on the source chain',
      next: ['waiting_attestation', 'returning'],
      withinMs: 60 * minutes,
    },
    waiting_attestation: {
      meaning: 'it is on no chain; the attestation service waits until the burn is final',
      next: ['minting', 'burning'],
      withinMs: 60 * minutes,
    },
    minting: {
      meaning: 'it is minted to the treasury on the destination chain',
      next: ['completed', 'waiting_attestation'],
      withinMs: 60 * minutes,
    },
    returning: {
      meaning: 'it was not burnt and is back in the balance; its tokens go back to the treasury',
      next: ['failed'],
      withinMs: 60 * minutes,
    },
    completed: { meaning: 'it is in the balance on the destination chain', next: [] },
    failed: { meaning: 'nothing was burnt, and the whole amount is back where it came from', next: [] },
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

/** What its owner is told: what is being returned has failed already, and the money is back. */
export const publicStatuses = [
  'pending',
  'approving',
  'burning',
  'waiting_attestation',
  'minting',
  'completed',
  'failed',
] as const satisfies readonly BridgeStatus[];

export type PublicStatus = (typeof publicStatuses)[number];

export function publicStatus(status: BridgeStatus): PublicStatus {
  return status === 'returning' ? 'failed' : status;
}
