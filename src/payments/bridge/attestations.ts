import type { Hex } from 'viem';

/** The attestation service's answer about the messages of one transaction. */
export type Attestation =
  /** Not asked, because of the rate limit. */
  | { readonly state: 'not_asked'; readonly lookAgainInMs: number }
  /** The service does not know the burn yet. */
  | { readonly state: 'unknown' }
  | {
      readonly state: 'known';
      /** Each with the nonce that the service has assigned. */
      readonly attested: readonly AttestedMessage[];
      /** Why other messages are not attested yet. Undefined when there are none. */
      readonly pending?: string;
    };

export interface AttestedMessage {
  readonly message: Hex;
  readonly attestation: Hex;
}

/** The service that attests burns, so that they can be minted on another chain. */
export interface Attestations {
  /** Throws when the service does not answer, with `retryAfterMs` if that is known. */
  find(burnt: { readonly domain: number; readonly txHash: Hex }): Promise<Attestation>;
}
