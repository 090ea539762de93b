import { readEvents } from './events.js';
import { operations } from './generated/operations.js';
import { List } from './list.js';
import { paidFetch } from './paid-fetch.js';
import { Transport } from './transport.js';

export { PaywrightError } from './error.js';
export { verifyWebhook } from './webhook.js';

export class Paywright {
  #transport;
  #fetch;

  /** @param {import('./index.d.ts').PaywrightOptions} options */
  constructor({ apiKey, baseUrl, maxRetries = 4, timeoutMs = 60_000, duplicateGuard = true, fetch }) {
    const key = apiKey?.trim();
    // Checked here, because fetch would show them in its error.
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
      throw new TypeError('apiKey must be printable ASCII without spaces');
    const url = parseUrl(baseUrl);
    if (
      url === undefined ||
      !/^https?:$/.test(url.protocol) ||
      url.username ||
      url.password ||
      url.search ||
      url.hash
    ) {
      throw new TypeError('baseUrl must be a URL such as https://pay.example.com/api');
    }
    this.#fetch = fetch;
    this.#transport = new Transport({
      apiKey: key,
      baseUrl: url.href.replace(/\/+$/, ''),
      maxRetries,
      timeoutMs,
      duplicateGuard,
      fetch,
    });
    for (const [name, methods] of Object.entries(operations)) {
      Object.defineProperty(this, name, { value: bind(this.#transport, methods), enumerable: true });
    }
  }

  /**
   * @param {string | URL} url
   * @param {import('./index.d.ts').PaidFetchOptions} options
   */
  fetch(url, options) {
    return paidFetch(this.#transport, this.#fetch ?? globalThis.fetch, url, options ?? {});
  }
}

/**
 * @param {Transport} transport
 * @param {Readonly<Record<string, import('./generated/operations.js').Operation>>} methods
 */
function bind(transport, methods) {
  return Object.freeze(
    Object.fromEntries(
      Object.entries(methods).map(([name, operation]) => [
        name,
        /** @type {(input?: Readonly<Record<string, unknown>>, options?: import('./index.d.ts').CallOptions) => unknown} */
        (input, options) => send(transport, operation, input, options),
      ]),
    ),
  );
}

/**
 * @param {Transport} transport
 * @param {import('./generated/operations.js').Operation} operation
 * @param {Readonly<Record<string, unknown>>} [input]
 * @param {import('./index.d.ts').CallOptions} [options]
 */
function send(transport, operation, input, options) {
  const { list, stream } = operation;
  if (stream) return { [Symbol.asyncIterator]: () => readEvents(() => transport.open(operation, input, options)) };
  if (list === undefined) return transport.call(operation, input, options);
  return new List(
    (cursor) => transport.call(operation, cursor === undefined ? input : { ...input, cursor }, options),
    (page) => page[list],
  );
}

/** @param {string} text */
function parseUrl(text) {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
