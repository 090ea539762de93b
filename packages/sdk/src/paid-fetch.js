import { PaywrightError } from './error.js';
import { operations } from './generated/operations.js';

const pay = operations.payingForCalls.payForCall;

/**
 * Fetches, and if the answer is 402, has the service fetch and pay. The API key goes to the service only.
 *
 * @param {import('./transport.js').Transport} transport
 * @param {typeof globalThis.fetch} fetch
 * @param {string | URL} url
 * @param {import('./index.d.ts').PaidFetchOptions} options
 * @returns {Promise<import('./index.d.ts').PaidResponse>}
 */
export async function paidFetch(
  transport,
  fetch,
  url,
  { maxAmount, note, notDuplicateOf, idempotencyKey = crypto.randomUUID(), ...init },
) {
  if (maxAmount === undefined) throw new TypeError('maxAmount is required: the most that this call may cost');
  const { body } = init;
  // What can be read only once could not be sent again with the payment.
  if (body != null && typeof body !== 'string' && !(body instanceof URLSearchParams)) {
    throw new TypeError('body must be a string or URLSearchParams');
  }
  // As fetch would send it, with the content type of its body.
  const request = new Request(url, init);
  const text = body == null ? undefined : String(body);
  const headers = Object.fromEntries(request.headers);
  if ([request.url, text ?? '', ...Object.values(headers)].some((part) => transport.holdsKey(part))) {
    throw new TypeError('the API key must not be sent to another service');
  }
  const free = await fetch(request);
  if (free.status !== 402) return describe(free, { paid: 0, payment: null, truncated: false });
  await free.body?.cancel();
  if (free.redirected && !(request.method === 'GET' && new URL(free.url).origin === new URL(request.url).origin)) {
    throw new PaywrightError(
      `The URL redirects to ${new URL(free.url).origin}, which asks for the payment. Nothing was paid.`,
      {
        code: 'redirected',
        status: 402,
      },
    );
  }
  const input = {
    url: free.url || request.url,
    method: request.method,
    maxAmount,
    headers,
    ...(text !== undefined && { body: text }),
    ...(note !== undefined && { note }),
    ...(notDuplicateOf !== undefined && { notDuplicateOf }),
  };
  const signal = init.signal ?? undefined;
  const answer = await transport.call(pay, input, {
    ...(signal !== undefined && { signal }),
    idempotencyKey,
  });
  if (answer.status === 'approval_required') {
    const message = `The owner has to approve this payment first: ${answer.url}`;
    const error = new PaywrightError(message, { code: 'approval_required', status: 202, members: answer });
    throw Object.assign(error, { idempotencyKey });
  }
  const { paid, payment, truncated } = answer;
  return describe(toResponse(answer), { paid, payment, truncated, url: input.url });
}

/** They describe the body as the seller sent it. */
const ofTransfer = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive']);
const withoutBody = new Set([204, 205, 304]);

/**
 * The answer of the seller, as fetch would give it.
 *
 * @param {Pick<import('./generated/operations.js').PayForCallPaid, 'status' | 'headers' | 'body' | 'encoding'>} answer
 */
function toResponse({ status, headers: given, body, encoding }) {
  const headers = new Headers();
  for (const [name, values] of Object.entries(given)) {
    if (ofTransfer.has(name)) continue;
    for (const value of [values].flat()) headers.append(name, value);
  }
  const bytes = encoding === 'base64' ? Uint8Array.from(atob(body), (char) => char.charCodeAt(0)) : body;
  return new Response(withoutBody.has(status) ? null : bytes, { status, headers });
}

/**
 * @param {Response} response
 * @param {{ paid: number, payment: import('./index.d.ts').PaidResponse['payment'], truncated: boolean, url?: string }} members
 * @returns {import('./index.d.ts').PaidResponse}
 */
function describe(response, members) {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(response, name, { value, enumerable: true });
  return /** @type {import('./index.d.ts').PaidResponse} */ (response);
}
