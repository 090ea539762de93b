import type { Hex } from 'viem';
import { z } from 'zod';
import { httpErrors } from '../../kernel/http/errors.ts';
import { type Outgoing, type OutgoingAnswer, OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { receipt, type Terms1, type Terms2 } from '../wire/messages.ts';
import type { ReceivedPayment } from './payment.ts';
import { type Reason, reasons } from './reasons.ts';

const verification = z.object({ isValid: z.boolean(), invalidReason: z.string().nullish() });
const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/);

const verifyWithinMs = 5_000;
const settleWithinMs = 10_000;

/** Asked through the outgoing-request guard, like every external address. */
export function createOutsideFacilitator(url: string, outgoing: Outgoing): Facilitator {
  async function ask(path: string, { payment, terms }: FacilitatorQuestion, timeoutMs: number) {
    return outgoing.request({
      method: 'POST',
      url: `${url.replace(/\/+$/, '')}/${path}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: payment.version, paymentPayload: payment.whole, paymentRequirements: terms }),
      timeoutMs,
      maxBodyBytes: 65_536,
    });
  }

  return {
    async verify(question) {
      const answer = await ask('verify', question, verifyWithinMs).catch((error: unknown) => {
        if (error instanceof OutgoingError) throw unavailable();
        throw error;
      });
      const read = verification.safeParse(jsonOf(answer));
      if (!read.success) throw unavailable();
      const { isValid, invalidReason } = read.data;
      return isValid ? undefined : toReason(invalidReason, 'facilitator_refused');
    },

    /** An unclear answer counts as `unknown`. */
    async settle(question) {
      try {
        const read = receipt.safeParse(jsonOf(await ask('settle', question, settleWithinMs)));
        if (!read.success) return { is: 'unknown' };
        const { success, transaction, errorReason } = read.data;
        if (success && hash.safeParse(transaction).success) {
          return { is: 'settled', txHash: transaction.toLowerCase() as Hex };
        }
        // A failure that names a transaction may still succeed.
        if (success || transaction !== '') return { is: 'unknown' };
        return { is: 'refused', reason: toReason(errorReason, 'unexpected_settle_error') };
      } catch (error) {
        if (error instanceof OutgoingError && error.neverSent)
          return { is: 'refused', reason: 'unexpected_settle_error' };
        return { is: 'unknown' };
      }
    },
  };
}

function jsonOf({ body }: OutgoingAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function toReason(word: string | null | undefined, otherwise: Reason): Reason {
  return word != null && Object.hasOwn(reasons, word) ? (word as Reason) : otherwise;
}

function unavailable() {
  return httpErrors.unavailable('The payment cannot be verified right now. Nothing was charged. Try again.', {
    headers: { 'Retry-After': '5' },
  });
}

export interface FacilitatorQuestion {
  readonly payment: ReceivedPayment;
  readonly terms: Terms1 | Terms2;
}

type Settled =
  | { readonly is: 'settled'; readonly txHash: Hex }
  /** No money moved. */
  | { readonly is: 'refused'; readonly reason: Reason }
  /** Money may have moved; only the chain can tell. */
  | { readonly is: 'unknown' };

/** An external service that verifies and submits payments. Without one this service does both. */
export interface Facilitator {
  /** Undefined when the payment is accepted. */
  verify(question: FacilitatorQuestion): Promise<Reason | undefined>;
  settle(question: FacilitatorQuestion): Promise<Settled>;
}
