import type { RequestCount } from '../../kernel/http/define-route.ts';
import { fingerprintOf } from './charge-balance.ts';
import type { SellingParts } from './parts.ts';
import { type ReadPayment, readPayment } from './payment.ts';
import { type CallRequest, refuse, type Sale } from './sale.ts';
import { createPaidSale } from './sell-for-payment.ts';
import { sellFromBalance } from './sell-from-balance.ts';

/** Sells a call for the payment in the request, otherwise from the balance of its key, otherwise states the price. */
export function createSales(parts: SellingParts): (request: CallRequest) => Promise<Sale> {
  const sellForPayment = createPaidSale(parts);

  return async (request) => {
    const { call, input, caller, header, count, method } = request;
    // HEAD has no body to sell, so it only returns the terms.
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

/** A malformed payment counts against the IP address. */
async function readOrCount(header: CallRequest['header'], count: RequestCount): Promise<ReadPayment | undefined> {
  try {
    return readPayment(header);
  } catch (error) {
    await count.address();
    throw error;
  }
}
