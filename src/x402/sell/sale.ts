import type { Caller, RequestCount } from '../../kernel/http/define-route.ts';
import { holderOf } from '../../kernel/http/holder.ts';
import type { Call, CallParts } from './calls.ts';
import type { SellingParts } from './parts.ts';
import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';
import { paymentRequired } from './terms.ts';

/** A request for a call, whoever pays for it. */
export interface CallRequest {
  readonly call: Call;
  /** Undefined for a bare question after the price. */
  readonly input: unknown;
  /** Where it was called, without its query. */
  readonly url: string;
  readonly caller: Caller | undefined;
  /** The address that calls. */
  readonly ip: string;
  readonly header: (name: string) => string | undefined;
  readonly count: RequestCount;
  /** GET or HEAD. */
  readonly method: string;
}

/** A request that carries a payment. */
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
  | { readonly status: 202; readonly body: PendingBody; readonly headers: Record<string, string> }
  | ReturnType<typeof paymentRequired>;

/** It is not certain yet that the payment has moved. It is never asked for again meanwhile. */
interface PendingBody {
  readonly status: 'settlement_pending';
  readonly paymentId: string;
  /** Empty while there is none. */
  readonly transaction: string;
  readonly statusUrl: string;
}

/** The price, and why what was offered for it is not taken. */
export async function refuse(
  { till }: Pick<SellingParts, 'till'>,
  { call, url }: Pick<CallRequest, 'call' | 'url'>,
  reason?: Reason,
): Promise<Sale> {
  return paymentRequired(await till.priceOf(call.price), call, url, reason);
}

/** Does the work, and answers only what was declared: what is not would have to be paid for in vain. */
export async function runCall(parts: CallParts, request: Pick<CallRequest, 'call' | 'input' | 'caller' | 'ip'>) {
  const { call, input } = request;
  return call.answer.parse(await call.run(parts, input, holderOf(request)));
}
