import { ok } from '../../kernel/http/define-route.ts';
import { parseQuery } from '../../kernel/http/parse-query.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { requirePosted } from '../../ledger/require-posted.ts';
import { toJsonNumber } from '../../money/amount.ts';
import { type CallParts, calls } from '../sell/calls.ts';
import { chargePosting } from '../sell/charge-balance.ts';
import { readInput } from '../sell/routes.ts';
import { runCall } from '../sell/sale.ts';
import type { PayAnswer } from './answer.ts';
import { purchaseErrors } from './errors.ts';
import { refuseAbove } from './refuse-above.ts';
import type { Buying } from './seller-request.ts';

export interface OwnCallParts {
  readonly once: Once;
  readonly ledger: Ledger;
  readonly calls: CallParts;
}

/**
 * Calls our own paid endpoint directly and charges the balance, as with the caller's own key: no payment, no chain, no
 * HTTP request. The work comes before the charge, so that a failed call costs nothing.
 */
export async function callOwn(parts: OwnCallParts, buying: Buying): Promise<PayAnswer> {
  const { caller, ip, idempotency, request, maximum } = buying;
  const url = new URL(request.url);
  const call = calls.find(({ path }) => `/api${path}` === url.pathname.replace(/\/$/, ''));
  if (call === undefined || request.method !== 'GET') {
    throw purchaseErrors.seller_url_refused(
      'This URL belongs to this service and is not a paid endpoint. Call it directly.',
    );
  }
  refuseAbove(maximum, call.price);
  const input = readInput(parts.calls, call, parseQuery(url.pathname + url.search));
  const body = await runCall(parts.calls, { call, input, caller, ip });
  const { body: answer } = await parts.once({ caller, idempotency, kind: 'purchases' }, async (tx) => {
    const charge = chargePosting({ caller, amount: call.price, resource: call.summary });
    const [posted] = await parts.ledger.postWithin(tx, [charge]);
    if (posted === undefined) throw new Error('the ledger gave no outcome');
    requirePosted(posted.outcome, 'a call of our own');
    if (!('posting' in posted)) throw new Error('a call of our own was not charged');
    const paid = toJsonNumber(call.price);
    return ok<PayAnswer>({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(body),
      encoding: 'utf8',
      truncated: false,
      paid,
      payment: {
        id: posted.posting.id,
        amount: paid,
        fee: 0,
        currency: 'USDC',
        network: null,
        payTo: null,
        nonce: null,
        transaction: null,
        receipt: null,
        statusUrl: null,
      },
    });
  });
  return answer;
}
