import type { z } from 'zod';
import type { Screening } from '../../custody/limits/allow-list.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Caller, RequestCount } from '../../kernel/http/define-route.ts';
import { holderOf } from '../../kernel/http/holder.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Consent } from '../../policies/consent.ts';
import type { Call, CallParts } from './calls.ts';
import type { Claimed, NewClaim } from './claim-payments.ts';
import type { Facilitator } from './facilitator.ts';
import type { ReceivedPayment } from './payment.ts';
import type { PaymentReceiver } from './payment-receiver.ts';
import type { Reason } from './reasons.ts';
import type { pendingAnswer } from './route-answers.ts';
import type { ServedCall } from './serve-calls.ts';
import { paymentRequired } from './terms.ts';

interface SellingRules {
  /** The credit limit of one payer. */
  readonly mostCredit: bigint;
  /** How long a payment must still be valid. */
  readonly leastSecondsLeft: bigint;
  /** Paid requests a minute per payer; 0 means unlimited. */
  readonly payerPerMinute: number;
}

export interface SellingParts extends CallParts {
  readonly ledger: Ledger;
  readonly once: RunOnce;
  readonly consent: Consent;
  readonly till: PaymentReceiver;
  readonly claim: (claim: NewClaim) => Promise<Claimed>;
  readonly serve: (call: ServedCall) => Promise<boolean>;
  /** While settling is late, nothing is served on credit. */
  readonly isOverdue: () => Promise<boolean>;
  readonly screening: Screening;
  /** Set when an external facilitator verifies and submits payments. */
  readonly facilitator: Facilitator | undefined;
  readonly rules: SellingRules;
  readonly clock: Clock;
  readonly checkpoint: Checkpoint;
}

export interface CallRequest {
  readonly call: Call;
  /** Undefined when the request only asks for the price. */
  readonly input: unknown;
  /** Without the query. */
  readonly url: string;
  readonly caller: Caller | undefined;
  /** The caller's IP address. */
  readonly ip: string;
  readonly header: (name: string) => string | undefined;
  readonly count: RequestCount;
  /** GET or HEAD. */
  readonly method: string;
}

export interface PaidRequest extends CallRequest {
  readonly payment: ReceivedPayment;
  readonly fingerprint: Buffer;
}

export type Sale =
  | {
      readonly status: 200;
      readonly body: unknown;
      readonly headers?: Record<string, string>;
      readonly replayed?: true;
    }
  | { readonly status: 202; readonly body: z.input<typeof pendingAnswer>; readonly headers: Record<string, string> }
  | ReturnType<typeof paymentRequired>;

/** The 402 with the price and, if a payment was refused, the reason. */
export async function refuse(
  { till }: Pick<SellingParts, 'till'>,
  { call, url }: Pick<CallRequest, 'call' | 'url'>,
  reason?: Reason,
): Promise<Sale> {
  return paymentRequired(await till.priceOf(call.price), call, url, reason);
}

/** Validates the answer before the charge, so that no one pays for an answer that the response check rejects. */
export async function runCall(parts: CallParts, request: Pick<CallRequest, 'call' | 'input' | 'caller' | 'ip'>) {
  const { call, input } = request;
  return call.answer.parse(await call.run(parts, input, holderOf(request)));
}
