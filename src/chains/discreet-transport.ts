import { type HttpTransport, http } from 'viem';
import { hideSecretsOf } from './node-secrets.ts';

/**
 * A node's address often holds the operator's key. viem puts the whole address into its errors, and a node may repeat parts of it in
 * its answer ("Cannot POST /v2/…"). Both are taken out where errors arise, so that no log, no answer and no table ever sees the key.
 */
export function discreetHttp(url: string, timeoutMs: number): HttpTransport {
  // How often to try is decided in one place, by whoever holds the list of addresses.
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

/** What an error tells: all of it comes from viem or from the node. What was asked, and who asks, is left as it is. */
const telling = ['message', 'stack', 'shortMessage', 'details', 'metaMessages', 'data', 'url'] as const;

function withoutSecrets(error: unknown, hide: (text: string) => string): unknown {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    const fields = one as Record<string, unknown>;
    for (const name of telling) if (fields[name] !== undefined) fields[name] = clean(fields[name], hide);
  }
  return error;
}

/** Bytes are no text: what a contract has answered with is decoded later. */
function clean(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return /^0x[0-9a-f]*$/i.test(value) ? value : hide(value);
  if (Array.isArray(value)) return value.map((one) => clean(one, hide));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, hide)]));
}
