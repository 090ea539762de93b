import { BaseError, type HttpTransport, http } from 'viem';

/**
 * A node's address often holds the operator's key, and viem puts the whole address into its errors. Here it is taken out
 * where they arise, so that no log, no answer and no table ever sees it.
 */
export function discreetHttp(url: string, timeoutMs: number): HttpTransport {
  // How often to try is decided in one place, by whoever holds the list of addresses.
  const transport = http(url, { timeout: timeoutMs, retryCount: 0 });
  const { origin } = new URL(url);
  return ((parameters) => {
    const inner = transport(parameters);
    return {
      ...inner,
      async request(args, options) {
        try {
          return await inner.request(args, options);
        } catch (error) {
          throw withoutUrl(error, url, `${origin}/…`);
        }
      },
    };
  }) as HttpTransport;
}

function withoutUrl(error: unknown, url: string, shown: string): unknown {
  for (let one = error; one instanceof Error; one = one.cause) {
    const clean = (text: string) => text.replaceAll(url, shown);
    one.message = clean(one.message);
    if (one.stack !== undefined) one.stack = clean(one.stack);
    if (!(one instanceof BaseError)) continue;
    const fields: { shortMessage: string; details: string; metaMessages?: string[] | undefined; url?: string } = one;
    fields.shortMessage = clean(fields.shortMessage);
    fields.details = clean(fields.details);
    if (fields.metaMessages !== undefined) fields.metaMessages = fields.metaMessages.map(clean);
    if (fields.url !== undefined) fields.url = shown;
  }
  return error;
}
