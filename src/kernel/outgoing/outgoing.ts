import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import { monotonicClock } from '../clock.ts';
import { checkUrl, type DestinationRules } from './check-url.ts';
import { createDnsLookup, createGuardedConnect, type GuardedConnectOptions } from './guarded-connect.ts';
import { OutgoingError, toOutgoingError } from './outgoing-error.ts';

export { OutgoingError } from './outgoing-error.ts';

/** The only way to send a request to a URL that a third party chose. */
export interface Outgoing {
  /** Says why the form of this URL can never be allowed, for when it is registered. Undefined when it is fine. */
  explainRefusal(url: string): string | undefined;
  /** Resolves with any status, redirects included. Throws an OutgoingError when no complete response arrived. */
  request(request: OutgoingRequest): Promise<OutgoingAnswer>;
  /** Waits for open requests. */
  close(): Promise<void>;
}

interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Covers DNS, connecting, TLS, headers and body. Defaults to 10 seconds. */
  readonly timeoutMs?: number;
  /** Defaults to 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Truncates a body that is too large instead of failing. */
  readonly truncateBody?: boolean;
  /** Cancels the request when its response is no longer needed. */
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly status: number;
  /** Names are lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Not decompressed. */
  readonly body: Buffer;
  readonly durationMs: number;
}

/** Only the sandbox allows private hosts and names. */
export type OutgoingOptions = Pick<DestinationRules, 'allowPrivateHosts'> &
  Partial<DestinationRules & Pick<GuardedConnectOptions, 'lookup' | 'ca' | 'dial'>>;

/** Headers that a caller must not set, because they could change what the connection means. */
const ownHeaders = new Set(
  'host connection keep-alive upgrade expect te transfer-encoding content-length accept-encoding'.split(' '),
);

export function createOutgoing(options: OutgoingOptions): Outgoing {
  const { allowPrivateHosts, names = new Map(), forbiddenPorts = () => [], lookup = createDnsLookup() } = options;
  const rules: DestinationRules = { allowPrivateHosts, names, forbiddenPorts };
  const stopping = new AbortController();
  // Every connection that is being opened listens to this signal.
  setMaxListeners(0, stopping.signal);
  const agent = new Agent({
    connect: createGuardedConnect({ ...options, rules, lookup, signal: stopping.signal }),
    connections: 128,
    maxHeaderSize: 16_384,
    // A connection stays with the checked address, so it must not outlive the DNS response for long.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
    // One timeout covers the whole request instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  async function send(request: OutgoingRequest): Promise<OutgoingAnswer> {
    const { method, body, timeoutMs = 10_000, maxBodyBytes = 1_048_576, truncateBody = false } = request;
    const checked = checkUrl(request.url, rules);
    if (checked.refusal !== undefined) throw new OutgoingError('refused', checked.refusal);
    const headers: Record<string, string> = { 'user-agent': 'Paywright', ...lowerCase(request.headers ?? {}) };
    for (const name of Object.keys(headers)) {
      if (ownHeaders.has(name)) throw new OutgoingError('refused', `The header ${name} must not be set by the caller.`);
    }

    const startedAt = monotonicClock.now();
    const over = new AbortController();
    async function exchange({ url }: { url: URL }): Promise<OutgoingAnswer> {
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers, 'accept-encoding': 'identity' },
        body: body ?? null,
        signal: over.signal,
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: await readBody(answer.body, { maxBytes: maxBodyBytes, truncate: truncateBody }),
        durationMs: Math.round(monotonicClock.now() - startedAt),
      };
    }
    try {
      request.signal?.throwIfAborted();
      return await within({ timeoutMs, signal: request.signal }, exchange(checked));
    } catch (error) {
      // Cancels the request, so that a slow connection that opens later sends nothing.
      over.abort();
      throw request.signal?.aborted === true ? givenUp() : toOutgoingError(error);
    }
  }

  return {
    explainRefusal: (url) => checkUrl(url, rules).refusal,

    async request(request) {
      if (closed) throw new OutgoingError('unreachable', 'The service is stopping.');
      const sending = send(request);
      underWay.add(sending);
      return sending.finally(() => underWay.delete(sending));
    },

    async close() {
      closed = true;
      await Promise.allSettled(underWay);
      stopping.abort();
      await agent.destroy();
    },
  };
}

/** A signal is not enough, because undici checks it only once it has a connection. */
async function within<Result>(
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
  work: Promise<Result>,
): Promise<Result> {
  let end = () => {};
  const over = new Promise<never>((_, reject) => {
    const sentence = `The host did not answer within ${timeoutMs / 1_000} seconds.`;
    const timer = setTimeout(() => reject(new OutgoingError('timeout', sentence)), timeoutMs);
    const giveUp = () => reject(givenUp());
    signal?.addEventListener('abort', giveUp);
    end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    };
  });
  return Promise.race([work, over]).finally(() => end());
}

function givenUp(): OutgoingError {
  return new OutgoingError('given_up', 'The request was cancelled, because its response is no longer needed.');
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Reads at most `maxBytes`. An unread rest closes the connection. */
async function readBody(
  body: Readable,
  { maxBytes, truncate }: { maxBytes: number; truncate: boolean },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Truncating makes the stream fail, which is intended.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (!truncate) throw new OutgoingError('too_large', `The response is larger than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, maxBytes));
}
