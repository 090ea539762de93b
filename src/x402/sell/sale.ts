import type { Caller, RequestCount } from '../../kernel/http/define-route.ts';
import { holderOf } from '../../kernel/http/holder.ts';
import type { Call, CallParts } from './calls.ts';
import type { SellingParts } from './parts.ts';
import type { ReceivedPayment } from './payment.ts';
import type { Reason } from './reasons.ts';
import { paymentRequired } from './terms.ts';

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
  | { readonly status: 202; readonly body: PendingBody; readonly headers: Record<string, string> }
  | ReturnType<typeof paymentRequired>;

/** It is not certain yet whether the payment has moved. The client must not pay again. */
interface PendingBody {
  readonly status: 'settlement_pending';
  readonly paymentId: string;
  /** Empty while there is none. */
  readonly transaction: string;
  readonly statusUrl: string;
}

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
