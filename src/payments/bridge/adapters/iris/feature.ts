import type { Feature } from '../../../../kernel/feature.ts';
import { defineSettings, url } from '../../../../kernel/settings.ts';

interface CctpSettings {
  /** Undefined when the sandbox runs its own service. */
  readonly attestationUrl: string | undefined;
}

const circles = 'https://iris-api.circle.com';

export const cctp: Feature<{ settings: CctpSettings }> = {
  name: 'cctp',
  settings: defineSettings({
    variables: { CCTP_ATTESTATION_URL: url('http:', 'https:').optional() },
    readme: [
      '| `CCTP_ATTESTATION_URL` | Circle’s; in the sandbox its own | who attests that USDC was burnt on one chain, so that it can be minted on another |',
    ],
    harmless: ['CCTP_ATTESTATION_URL'],
    read: ({ CCTP_ATTESTATION_URL }, mode) => ({
      attestationUrl: CCTP_ATTESTATION_URL ?? (mode === 'live' ? circles : undefined),
    }),
    refuseLive: ({ CCTP_ATTESTATION_URL }) =>
      CCTP_ATTESTATION_URL?.startsWith('http:') === true
        ? ['CCTP_ATTESTATION_URL must begin with https://: whoever listens could tell us of burns that never were.']
        : [],
  }),
};
