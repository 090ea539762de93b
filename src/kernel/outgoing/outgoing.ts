import { setMaxListeners } from 'node:events';
import { Agent } from 'undici';
import { monotonicClock } from '../clock.ts';
import { checkUrl } from './check-url.ts';
import type { DestinationRules } from './destination.ts';
import { createGuardedConnect, type Dial } from './guarded-connect.ts';
import { createDnsLookup, type Lookup } from './lookup.ts';
import { OutgoingError, toOutgoingError } from './outgoing-error.ts';
import type { HostAndPort } from './private-hosts.ts';
import { readBody } from './read-body.ts';

export { OutgoingError } from './outgoing-error.ts';

/** The one door for requests to a URL that somebody else has chosen. */
export interface Outgoing {
  /** For when a URL is registered: one clear sentence if it could never be dialled, undefined when its form is fine. */
  explainRefusal(url: string): string | undefined;
  /** Answers with whatever status came, a redirect as well; throws an OutgoingError when no whole answer came. */
  request(request: OutgoingRequest): Promise<OutgoingAnswer>;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For everything together: DNS, connecting, TLS, headers and body. 10 seconds unless it is set. */
  readonly timeoutMs?: number;
  /** One MiB unless it is set. */
  readonly maxBodyBytes?: number;
  /** A body that is too large is cut off instead of being an error. */
  readonly truncateBody?: boolean;
  /** Ends it wherever it is, for when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came: nothing is decompressed. */
  readonly body: Buffer;
  readonly durationMs: number;
}

export interface OutgoingOptions {
  /** Only in the sandbox. */
  readonly allowPrivateHosts: readonly HostAndPort[];
  /** Host names that lead to a place of our own, such as a demo shop, whatever DNS says. */
  readonly names?: ReadonlyMap<string, HostAndPort>;
  /** Ports that nothing may reach, such as those of the database and the local chains. */
  readonly forbiddenPorts?: () => readonly number[];
  readonly lookup?: Lookup;
  /** Certificates to trust instead of the well-known ones. */
  readonly ca?: string;
  /** Opens a connection to an address that was checked. */
  readonly dial?: Dial;
}

/** What the guard decides; a caller that sets them could make the connection mean something else. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
]);

export function createOutgoing(options: OutgoingOptions): Outgoing {
  const {
    allowPrivateHosts,
    names = new Map(),
    forbiddenPorts = () => [],
    lookup = createDnsLookup(),
    ca,
    dial,
  } = options;
  const rules: DestinationRules = { allowPrivateHosts, names, forbiddenPorts };
  const stopping = new AbortController();
  // Every connection that is being opened listens to it.
  setMaxListeners(0, stopping.signal);
  const agent = new Agent({
    connect: createGuardedConnect({
      rules,
      lookup,
      signal: stopping.signal,
      ...(ca !== undefined && { ca }),
      ...(dial && { dial }),
    }),
    connections: 128,
    maxHeaderSize: 16_384,
    // A connection stays with the address that was checked, so it must not outlive the answer of DNS for long.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
    // One clock covers the whole request instead.
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
      if (ownHeaders.has(name)) throw new OutgoingError('refused', `The header ${name} is not the caller's to set.`);
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
      // Nothing is sent any more, even if a connection that was too slow is opened after all.
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

/** The signal alone would not do: the client looks at it only once it has a connection. */
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
  return new OutgoingError('given_up', 'The request was given up, because nobody waits for it any more.');
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
