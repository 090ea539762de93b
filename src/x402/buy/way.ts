import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Amount } from '../../money/amount.ts';
import type { Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { type Call, calls } from '../sell/calls.ts';
import { paymentForOwnCall } from '../sell/charge-balance.ts';
import type { SellerRequest } from './ask-seller.ts';
import { purchaseErrors } from './errors.ts';
import { isOwnUrl } from './own-url.ts';
import { mostToSeller } from './payment-to-seller.ts';
import { payBody, readMaximum, refuseAbove } from './seller-request.ts';

/** The method and the content of the request make no difference to what it may cost. */
const callBody = payBody.pick({ url: true, maxAmount: true });

export interface CallWayParts {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly publicUrl: () => string;
}

interface ReadCall {
  readonly payment: Payment;
  /** Set when the URL is one of our own endpoints. */
  readonly own?: Call;
}

/**
 * The payment as it is known before the seller is asked. A seller may ask for up to `maxAmount`, so the policies must allow that.
 * What it asks for in the end is judged again.
 */
export function readCall(
  { outgoing, publicUrl }: CallWayParts,
  { url, method }: Pick<SellerRequest, 'url' | 'method'>,
  maximum: Amount,
): ReadCall {
  if (isOwnUrl(url, publicUrl())) {
    const own = ownCallOrRefuse({ url, method });
    refuseAbove(maximum, own.price);
    return { payment: paymentForOwnCall(own.price, url, publicUrl()), own };
  }
  const refusal = outgoing.explainRefusal(url);
  if (refusal !== undefined) throw purchaseErrors.seller_url_refused(refusal);
  return { payment: mostToSeller(url, maximum) };
}

function ownCallOrRefuse({ url, method }: Pick<SellerRequest, 'url' | 'method'>): Call {
  const { pathname } = new URL(url);
  const call = calls.find(({ path }) => `/api${path}` === pathname.replace(/\/$/, ''));
  if (call !== undefined && method === 'GET') return call;
  throw purchaseErrors.seller_url_refused(
    'This URL belongs to this service and is not a paid endpoint. Call it directly.',
  );
}

export function callWay(parts: CallWayParts): Way<typeof callBody> {
  return {
    operation: 'call',
    scope: 'pay',
    body: callBody,
    refusals: [purchaseErrors.seller_url_refused, purchaseErrors.price_above_maximum],
    read: async (_caller, body) => readCall(parts, { url: body.url, method: 'GET' }, readMaximum(body)),
  };
}
