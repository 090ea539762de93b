import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { parseUrl } from '../../src/kernel/text/parse-url.ts';

const mostBodyBytes = 1024 * 1024;

/** Undefined if the body is too long. It is still read to the end, so that the client receives the response. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBodyBytes) chunks.push(chunk);
  }
  return bytes > mostBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

/** Browser wallets. A web page cannot forge these origins, and the user trusts an installed wallet anyway. */
const walletSchemes = new Set(['chrome-extension:', 'moz-extension:', 'safari-web-extension:']);

/**
 * Why a request is not from a local program; undefined if it is. Binding to loopback does not stop web pages, because the browser
 * runs on this machine too. A foreign page sends its Origin or, after DNS rebinding, its own name as the Host.
 */
export function explainForeignCaller({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const host = headers.host === undefined ? undefined : parseUrl(`http://${headers.host}`)?.hostname;
  if (host === undefined || !isLoopback(host)) return 'ask for it under the name of this machine, such as 127.0.0.1';
  if (headers.origin === undefined) return undefined;
  const origin = parseUrl(headers.origin);
  const isLocal = origin !== undefined && (walletSchemes.has(origin.protocol) || isLoopback(origin.hostname));
  return isLocal ? undefined : 'web pages of others are not answered';
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

/** A web page cannot send this content type without a CORS preflight. */
export function isJson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
