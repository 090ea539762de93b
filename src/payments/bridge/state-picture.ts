import type { StatePicture } from '../../kernel/http/openapi.ts';

/** What people are told of the way, in the reference. */
export const bridgePicture: StatePicture = {
  caption: 'The way of a cross-chain transfer',
  way: [
    { state: 'pending', meaning: 'It has left your balance on the one chain.', mayFail: true },
    { state: 'approving', meaning: 'The protocol is allowed to take exactly this amount.', mayFail: true },
    { state: 'burning', meaning: 'It is burnt there.', mayFail: true },
    {
      state: 'waiting_attestation',
      meaning: 'It is on no chain while the burn becomes final. This takes the longest, and cannot fail any more.',
    },
    { state: 'minting', meaning: 'It is minted on the other chain, to the last unit.' },
    { state: 'completed', meaning: 'It is in your balance on the other chain. You are told by `bridge.completed`.' },
  ],
  failed: {
    state: 'failed',
    meaning: 'Nothing was burnt, and the whole amount is back in your balance. You are told by `bridge.failed`.',
  },
};
