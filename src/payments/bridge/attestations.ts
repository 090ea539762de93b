import type { Hex } from 'viem';

/** What the attestation service says of the messages of one transaction. */
export type Attestation =
  /** It was not asked: others have used up what may be asked of it now. */
  | { readonly state: 'not_asked'; readonly lookAgainInMs: number }
  /** It has not seen the burn yet. */
  | { readonly state: 'unknown' }
  | {
      readonly state: 'known';
      /** Those that are attested, each with the nonce that the service has given it. */
      readonly attested: readonly AttestedMessage[];
      /** Why others are not: undefined when there are no others. */
      readonly pending?: string;
    };

export interface AttestedMessage {
  readonly message: Hex;
  readonly attestation: Hex;
}

/** Whoever attests that something was burnt on one chain, so that it can be minted on another. Its adapters are in adapters/. */
export interface Attestations {
  /** Throws when the service cannot be asked now, with `retryAfterMs` where it is known when it can. */
  find(burnt: { readonly domain: number; readonly txHash: Hex }): Promise<Attestation>;
}
