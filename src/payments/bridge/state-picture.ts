import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const bridgePicture: StatePicture = {
  caption: 'States of a cross-chain transfer',
  way: [
    { state: 'pending', meaning: 'The amount was taken from your balance on the source chain.', mayFail: true },
    { state: 'approving', meaning: 'The protocol is being approved to take exactly this amount.', mayFail: true },
    { state: 'burning', meaning: 'The amount is being burned on the source chain.', mayFail: true },
    {
      state: 'waiting_attestation',
      meaning: 'The burn is becoming final. This takes longest, and the transfer can no longer fail.',
    },
    { state: 'minting', meaning: 'The amount is being minted on the destination chain.' },
    {
      state: 'completed',
      meaning: 'The money is in your balance on the destination chain. Event: `bridge.completed`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning: 'Nothing was burned, and the whole amount is back in your balance. Event: `bridge.failed`.',
  },
};
