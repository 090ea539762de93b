import { PaywrightError } from './error.js';
import { readRetryAfter, withRetries } from './retry.js';

/**
 * @typedef {import('./index.d.ts').IdempotentOptions & import('./index.d.ts').VersionedOptions} Options
 * @typedef {{ readonly [name: string]: unknown }} Input
 * @typedef {import('./generated/operations.js').Operation} Operation
 * @typedef {object} Settings
 * @property {string | undefined} apiKey
 * @property {string} baseUrl
 * @property {number} maxRetries
 * @property {number} timeoutMs
 * @property {boolean} duplicateGuard
 * @property {typeof globalThis.fetch | undefined} fetch
 */

/** Sends operations to the service. The API key is nowhere else. */
export class Transport {
  /** @type {Settings} */
  #settings;

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /** @param {string} text */
  holdsKey(text) {
    const { apiKey } = this.#settings;
    return apiKey !== undefined && text.includes(apiKey);
  }

  /**
   * @param {Operation} operation
   * @param {Input | undefined} input
   * @param {Options | undefined} options
   */
  async call(operation, input, options = {}) {
    return this.#repeat(operation, input, options, async (request) => {
      const response = await request.send();
      return this.#read(operation, response, await request.receive(response.text()));
    });
  }

  /**
   * Opens a stream. The function that it returns reads the next bytes, and undefined at the end.
   *
   * @param {Operation} operation
   * @param {Input | undefined} input
   * @param {Options | undefined} options
   */
  async open(operation, input, options = {}) {
    return this.#repeat(operation, input, options, async (request) => {
      const response = await request.send();
      const isStream = response.ok && contentType(response) === 'text/event-stream';
      if (!isStream) return this.#read(operation, response, await request.receive(response.text()));
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      return {
        next: async () => (await request.receive(reader.read())).value,
        close: () => request.abort(),
      };
    });
  }

  /**
   * One Idempotency-Key and one body for all attempts.
   *
   * @template T
   * @param {Operation} operation
   * @param {Input | undefined} input
   * @param {Options} options
   * @param {(request: Attempt) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #repeat(operation, input, options, work) {
    const { maxRetries, timeoutMs, fetch = globalThis.fetch } = this.#settings;
    const { signal } = options;
    const idempotencyKey = operation.keyed ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const { url, init } = this.#encode(operation, input, { ...options, idempotencyKey });
    const isRepeatable = operation.keyed === true || operation.safe === true;
    const patienceMs = atLeast(1, 'timeoutMs', options.timeoutMs ?? timeoutMs);
    const most = atLeast(0, 'maxRetries', options.maxRetries ?? maxRetries);
    try {
      return await withRetries(() => work(new Attempt(fetch, url, init, { signal, timeoutMs: patienceMs })), {
        maxRetries: most,
        isRepeatable,
        signal,
      });
    } catch (error) {
      // With it, the caller can ask again for the outcome.
      if (error instanceof PaywrightError && idempotencyKey !== undefined) error.idempotencyKey = idempotencyKey;
      throw error;
    }
  }

  /**
   * @param {Operation} operation
   * @param {Input} input
   * @param {Options} options
   * @returns {{ url: string, init: RequestInit }}
   */
  #encode({ method, path, keyed, guarded, body: takesBody, stream }, input = {}, { idempotencyKey, ifMatch }) {
    const { apiKey, baseUrl, duplicateGuard } = this.#settings;
    /** @type {Record<string, unknown>} */
    const rest = { ...input };
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
      const value = rest[name];
      delete rest[name];
      return pathSegment(name, value);
    });
    const query = new URLSearchParams();
    if (!takesBody) {
      for (const [name, value] of Object.entries(rest)) if (value != null) query.append(name, String(value));
    }
    const search = query.toString();
    return {
      url: `${baseUrl}${filled}${search && `?${search}`}`,
      init: {
        method,
        // Made here, so that a value which cannot be sent is no lost connection.
        headers: new Headers({
          accept: stream ? 'text/event-stream' : 'application/json',
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...(takesBody && { 'content-type': 'application/json' }),
          ...(keyed && idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(guarded && duplicateGuard && { 'duplicate-guard': 'on' }),
          ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        }),
        ...(takesBody && { body: JSON.stringify(rest) }),
        // Another origin must not get the key, and a payment must not go where it was not meant to.
        redirect: 'manual',
      },
    };
  }

  /**
   * @param {Operation} operation
   * @param {Response} response
   * @param {string} text
   */
  #read(operation, response, text) {
    const { status } = response;
    if (response.ok) {
      if (isJson(response)) return parse(text) ?? refuse('connection_lost', 'The answer was cut off.', { status });
      if (operation.text) return text;
      throw notOurs(response);
    }
    if (status === 0 || (status >= 300 && status < 400)) {
      throw new PaywrightError('The service answered with a redirect, which is not followed. Check baseUrl.', {
        code: 'redirected',
        status,
      });
    }
    const problem = isJson(response) ? parse(this.#withoutKey(text)) : undefined;
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
    if (typeof problem !== 'object' || problem === null) throw notOurs(response, { retryAfterMs });
    const { code, requestId, detail, title } = problem;
    if (typeof code !== 'string') throw notOurs(response, { retryAfterMs, members: problem });
    throw new PaywrightError(String(detail ?? title ?? code), {
      code,
      status,
      requestId,
      retryAfterMs,
      members: problem,
    });
  }

  /** @param {string} text */
  #withoutKey(text) {
    const { apiKey } = this.#settings;
    return apiKey === undefined ? text : text.replaceAll(apiKey, '[API key]');
  }
}

const longestTimerMs = 2 ** 31 - 1;

/**
 * NaN, such as that of a setting that is missing, would repeat for ever or end every attempt at once.
 *
 * @param {number} least
 * @param {string} name
 * @param {number} value
 */
function atLeast(least, name, value) {
  if (typeof value === 'number' && value >= least) return value;
  throw new TypeError(`${name} must be a number, at least ${least}`);
}

/** One request, which ends with the caller's signal and when the service is silent for too long. */
class Attempt {
  #controller = new AbortController();

  /**
   * @param {typeof globalThis.fetch} fetch
   * @param {string} url
   * @param {RequestInit} init
   * @param {{ signal: AbortSignal | undefined, timeoutMs: number }} options
   */
  constructor(fetch, url, init, { signal, timeoutMs }) {
    this.fetch = fetch;
    this.url = url;
    this.init = init;
    this.signal = signal;
    this.timeoutMs = timeoutMs;
  }

  send() {
    // Called without an object, because that of a worker demands to be.
    const { fetch } = this;
    return this.receive(fetch(this.url, { ...this.init, signal: this.#controller.signal }));
  }

  abort() {
    this.#controller.abort();
  }

  /**
   * @template T
   * @param {Promise<T>} answer
   * @returns {Promise<T>}
   */
  async receive(answer) {
    const { signal } = this;
    let isLate = false;
    const stop = () => this.abort();
    const late = () => {
      isLate = true;
      stop();
    };
    // A timer that is asked for more ends at once.
    const timer = setTimeout(late, Math.min(this.timeoutMs, longestTimerMs));
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    try {
      return await answer;
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (isLate) throw refused('timeout', `The service did not answer within ${this.timeoutMs} ms.`);
      throw refused('connection_lost', 'The connection was lost before the whole answer arrived.', { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

/**
 * @param {string} code
 * @param {string} message
 * @param {{ status?: number, cause?: unknown }} [facts]
 */
function refused(code, message, facts) {
  return new PaywrightError(`${message} The operation may have been carried out.`, { code, ...facts });
}

/**
 * @param {string} code
 * @param {string} message
 * @param {{ status?: number }} facts
 * @returns {never}
 */
function refuse(code, message, facts) {
  throw refused(code, message, facts);
}

/**
 * @param {Response} response
 * @param {{ retryAfterMs?: number | undefined, members?: Input }} [facts]
 */
function notOurs(response, facts) {
  const { status } = response;
  const type = contentType(response) || 'no content type';
  return new PaywrightError(
    `The answer is not one of Paywright: status ${status}, ${type}. Check baseUrl and proxies.`,
    {
      code: 'unexpected_response',
      status,
      requestId: response.headers.get('x-request-id') ?? undefined,
      ...facts,
    },
  );
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function pathSegment(name, value) {
  const text = typeof value === 'number' ? String(value) : value;
  // A URL with a segment of dots is another URL.
  if (typeof text !== 'string' || /^(?:\.|%2e){0,2}$/i.test(text))
    throw new TypeError(`${name} is required, and is no path`);
  return encodeURIComponent(text);
}

/** @param {Response} response */
function contentType(response) {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** @param {Response} response */
function isJson(response) {
  return /^application\/(?:[\w.-]+\+)?json$/.test(contentType(response));
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
