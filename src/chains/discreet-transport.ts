import { type HttpTransport, http } from 'viem';
import { hideSecretsOf } from './node-secrets.ts';

/**
 * A node's URL often contains the operator's API key. viem puts the whole URL into its errors, and a node may repeat
 * parts of it ("Cannot POST /v2/…"). Both are removed where the error arises, so that the key reaches no log, response
 * or table.
 */
export function discreetHttp(url: string, timeoutMs: number): HttpTransport {
  // The fallback transport over all nodes decides about retries.
  const transport = http(url, { timeout: timeoutMs, retryCount: 0 });
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
