import type { Caller, RequestCount } from '../http/define-route.ts';
import { httpErrors } from '../http/errors.ts';
import { chargeBalance, fingerprintOf } from './charge-balance.ts';
import type { SellingParts } from './parts.ts';
import { type ReadPayment, readPayment } from './payment.ts';
import { type CallRequest, refuse, runCall, type Sale } from './sale.ts';
import { createPaidSale } from './sell-for-payment.ts';

/** Sells calls: for a payment that the request carries, else from the balance of its key, else it tells the price. */
export function createSales(parts: SellingParts): (request: CallRequest) => Promise<Sale> {
  const sellForPayment = createPaidSale(parts);

  return async (request) => {
    const { call, input, caller, header, count, method } = request;
    // The answer to HEAD has no body, so there is nothing to sell: whoever asks is told the terms, whatever the request carries.
    if (input === undefined || method === 'HEAD') {
      await count.address();
      return refuse(parts, request);
    }
    const payment = await readOrCount(header, count);
    if (payment === undefined) {
      return caller === undefined ? refuse(parts, request) : sellFromBalance(parts, { ...request, caller });
    }
    if ('refused' in payment) {
      await count.address();
      return refuse(parts, request, payment.refused);
    }
    return sellForPayment({ ...request, payment, fingerprint: fingerprintOf(call.id, input) });
  };
}

/** What is no payment counts against the address that sends it. */
async function readOrCount(header: CallRequest['header'], count: RequestCount): Promise<ReadPayment | undefined> {
  try {
    return readPayment(header);
  } catch (error) {
    await count.address();
    throw error;
  }
}

/** First the work and then the charge: what fails costs nothing, and what is not paid for is not answered. */
async function sellFromBalance(parts: SellingParts, request: CallRequest & { readonly caller: Caller }): Promise<Sale> {
  const { call, input, caller, header } = request;
  const body = await runCall(parts, request);
  const charged = await chargeBalance(parts.ledger, {
    caller,
    amount: call.price,
    resource: call.summary,
    fingerprint: fingerprintOf(call.id, input),
    idempotencyKey: readKey(header),
  });
  if (charged === 'insufficient_balance') return refuse(parts, request, 'insufficient_funds');
  return { status: 200, body, ...(charged === 'charged_before' && { replayed: true }) };
}

/** A request that is sent again under the same key is answered again, and charged once. */
function readKey(header: CallRequest['header']): string | undefined {
  const key = header('idempotency-key');
  if (key !== undefined && !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw httpErrors.invalid_request('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  return key;
}
