import type { Caller, RequestCount } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { requireIdempotencyKey } from '../../kernel/http/idempotency-claim.ts';
import { findKey } from '../../ledger/idempotency.ts';
import type { IdempotencyScope } from '../../ledger/posting.ts';
import { type Charge, chargeBalance, chargeWithin, fingerprintOf, paymentForOwnCall } from './charge-balance.ts';
import { type ReadPayment, readPayment } from './payment.ts';
import { type CallRequest, refuse, runCall, type Sale, type SellingParts } from './sale.ts';
import { createPaidSale } from './sell-for-payment.ts';

type KeyedRequest = CallRequest & { readonly caller: Caller };

/**
 * The work comes before the charge, so that a failed call costs nothing and an unpaid answer is not returned. With an
 * Idempotency-Key the answer is kept in the commit of the charge.
 */
async function sellFromBalance(parts: SellingParts, request: KeyedRequest): Promise<Sale> {
  const { call, input, caller, header } = request;
  const key = readKey(header);
  if (key === undefined) {
    const charge = await chargeFor(parts, request);
    const body = await runCall(parts, request);
    return (await chargeBalance(parts.ledger, charge)) ? { status: 200, body } : refuseShort(parts, request);
  }
  const scope = { accountId: caller.accountId, key, requestHash: fingerprintOf(call.id, input).toString('hex') };
  return (await findAnswer(parts, scope)) ?? sellOnce(parts, request, await chargeFor(parts, request), scope);
}

/** The policies are asked before the work. */
async function chargeFor({ consent, publicUrl }: SellingParts, { call, caller, url }: KeyedRequest): Promise<Charge> {
  const { price: amount, summary: resource } = call;
  const authority = await consent.forPayment(caller, paymentForOwnCall(amount, url, publicUrl()));
  return { caller, authority, amount, resource };
}

/** Undefined when the key is new. */
async function findAnswer({ db }: SellingParts, scope: IdempotencyScope): Promise<Sale | undefined> {
  const found = await findKey(db, scope);
  if (found.holder === 'nobody') return undefined;
  if (found.holder === 'another' || found.answer === undefined) throw httpErrors.idempotency_mismatch();
  return { status: 200, body: found.answer.body, replayed: true };
}

/** Of two requests with one key, one is charged and both get its answer. */
async function sellOnce(
  parts: SellingParts,
  request: KeyedRequest,
  charge: Charge,
  { key, requestHash }: { readonly key: string; readonly requestHash: string },
): Promise<Sale> {
  const body = await runCall(parts, request);
  const once = parts.once<{ status: 200; body: unknown; replayed?: true }>(
    { caller: request.caller, idempotency: { key, requestHash } },
    async (tx) => {
      if (!(await chargeWithin(tx, parts.ledger, charge))) throw new TooLittle();
      return { status: 200, body };
    },
  );
  return once.catch((error: unknown) => {
    if (error instanceof TooLittle) return refuseShort(parts, request);
    throw error;
  });
}

/** Rolls the transaction back, so that the key can be used again. */
class TooLittle extends Error {
  override readonly name = 'TooLittle';
}

function refuseShort(parts: SellingParts, request: KeyedRequest): Promise<Sale> {
  return refuse(parts, request, 'insufficient_funds');
}

function readKey(header: CallRequest['header']): string | undefined {
  const key = header('idempotency-key');
  return key === undefined ? undefined : requireIdempotencyKey(key);
}

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
