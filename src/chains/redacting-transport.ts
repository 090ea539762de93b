import { type HttpTransport, http } from 'viem';
import { askProvider } from '../kernel/outgoing/ask-provider.ts';

/** Shorter parts such as `v2` or `eth` are no secret, and removing them would leave holes in every text. */
const leastSecret = 6;

/**
 * Removes everything that may be secret in a node's URL from a text: the URL itself, its path and query, each segment
 * and value, user name and password. A node may repeat any of them in its answer, in another case or encoded.
 */
function hideSecretsOf(address: string): (text: string) => string {
  const url = new URL(address);
  const { pathname, search, username, password, searchParams, origin } = url;
  const wholes = [`${pathname}${search}`, pathname].filter((whole) => whole.length > 1);
  const parts = [
    ...pathname.split('/'),
    ...searchParams.values(),
    ...search.slice(1).split(/[&=]/),
    username,
    password,
    Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64'),
  ].filter((part) => part.length >= leastSecret);
  const shown = (text: string) => text.replaceAll(address, `${origin}/…`).replaceAll(url.href, `${origin}/…`);
  const secrets = new Set([...wholes, ...parts].flatMap((text) => [text, decoded(text), encodeURIComponent(text)]));
  if (secrets.size === 0) return (text) => text;
  const longestFirst = [...secrets].toSorted((one, other) => other.length - one.length);
  const anySecret = new RegExp(longestFirst.map(literally).join('|'), 'gi');
  return (text) => shown(text).replaceAll(anySecret, '…');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function literally(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/**
 * A node's URL often contains the operator's API key. viem puts the whole URL into its errors, and a node may repeat
 * parts of it ("Cannot POST /v2/…"). Both are removed where the error arises, so that the key reaches no log, response
 * or table.
 */
export function redactingHttp(url: string, timeoutMs: number): HttpTransport {
  // The fallback transport over all nodes decides about retries.
  const transport = http(url, { timeout: timeoutMs, retryCount: 0, fetchFn: createFetch(timeoutMs) });
  const hide = hideSecretsOf(url);
  return ((parameters) => {
    const inner = transport(parameters);
    return {
      ...inner,
      async request(args, options) {
        try {
          return await inner.request(args, options);
        } catch (error) {
          throw withoutSecrets(error, hide);
        }
      },
    };
  }) as HttpTransport;
}

/** As much as viem itself would read. */
const mostBytes = 10_485_760;

/** viem's time limit ends with the headers. A node that stalls in the middle of its answer would be waited for much longer. */
function createFetch(timeoutMs: number): typeof fetch {
  return async (address, { headers, body } = {}) => {
    const reply = await askProvider(String(address), {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: String(body),
      timeoutMs,
      mostBytes,
    });
    const text = await reply.text();
    return new Response(text, {
      status: reply.status,
      headers: { 'content-type': reply.header('content-type') ?? '' },
    });
  };
}

/** The fields of an error that viem or the node fills. Request and caller stay as they are. */
const telling = ['message', 'stack', 'shortMessage', 'details', 'metaMessages', 'data', 'url'] as const;

function withoutSecrets(error: unknown, hide: (text: string) => string): unknown {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    const fields = one as Record<string, unknown>;
    for (const name of telling) if (fields[name] !== undefined) fields[name] = clean(fields[name], hide);
  }
  return error;
}

/** Hex data stays as it is: callers decode what a contract returned. */
function clean(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return /^0x[0-9a-f]*$/i.test(value) ? value : hide(value);
  if (Array.isArray(value)) return value.map((one) => clean(one, hide));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, hide)]));
}
