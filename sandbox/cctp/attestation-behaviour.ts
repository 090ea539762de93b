import { z } from 'zod';

const ms = z.int().min(0);

/** How the service behaves. Whoever tests a client of it can make it slow, silent or wrong. */
export const attestationBehaviour = z.strictObject({
  /** From the first question on it knows nothing of a transaction for so long, */
  unseenMs: ms.default(150),
  /** and then it waits for confirmations. */
  pendingMs: ms.default(250),
  /** What it gives as the reason while it waits. */
  delayReason: z
    .enum(['insufficient_fee', 'amount_above_max', 'insufficient_allowance_available'])
    .nullable()
    .default(null),
  /** Waits for ever. */
  neverAttests: z.boolean().default(false),
  /** How often it lists each message. */
  copies: z.int().min(1).default(1),
  /** What it does instead of answering. */
  fault: z
    .enum([
      /** 500. */
      'error',
      /** 429, though nobody has asked too often. */
      'blocked',
      /** No answer at all. */
      'hang',
      /** The connection ends. */
      'disconnect',
      /** 200 with what is no JSON. */
      'malformed',
      /** 200 with other fields. */
      'other_fields',
      /** 200 with no message. */
      'empty',
      /** The message pays somebody else than the burn says. */
      'foreign_message',
      /** The signatures are in the wrong order. */
      'wrong_signatures',
    ])
    .nullable()
    .default(null),
  /** How many requests meet the fault; every one if it is not said. */
  faults: z.int().min(1).nullable().default(null),
  /** Whoever asks more often within a second is not answered for a while. */
  mostPerSecond: z.int().min(1).default(35),
  blockedMs: ms.default(300_000),
});

export type AttestationBehaviour = z.infer<typeof attestationBehaviour>;
