import { z } from 'zod';

const ms = z.int().min(0);

/** How the service behaves. Tests use it to simulate a slow, silent or faulty service. */
export const attestationBehaviour = z.strictObject({
  /** How long after the first request a transaction is unknown (404). */
  unseenMs: ms.default(150),
  /** How long after that it is pending. */
  pendingMs: ms.default(250),
  /** The reason it gives while pending. */
  delayReason: z
    .enum(['insufficient_fee', 'amount_above_max', 'insufficient_allowance_available'])
    .nullable()
    .default(null),
  /** Stays pending forever. */
  neverAttests: z.boolean().default(false),
  /** How often it lists each message. */
  copies: z.int().min(1).default(1),
  /** A fault instead of the normal response. */
  fault: z
    .enum([
      /** Status 500. */
      'error',
      /** Status 429, although the rate limit is not exceeded. */
      'blocked',
      /** No response. */
      'hang',
      /** Closes the connection. */
      'disconnect',
      /** Status 200 with invalid JSON. */
      'malformed',
      /** Status 200 with unexpected fields. */
      'other_fields',
      /** Status 200 without a message. */
      'empty',
      /** The message pays another recipient than the burn. */
      'foreign_message',
      /** The signatures are in the wrong order. */
      'wrong_signatures',
    ])
    .nullable()
    .default(null),
  /** How many requests fail; null for all. */
  faults: z.int().min(1).nullable().default(null),
  /** A client that exceeds this rate is blocked for `blockedMs`. */
  mostPerSecond: z.int().min(1).default(35),
  blockedMs: ms.default(300_000),
});

export type AttestationBehaviour = z.infer<typeof attestationBehaviour>;
