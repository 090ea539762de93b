import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { parseUrl } from '../../src/kernel/text/parse-url.ts';

/** A wallet in the browser: no web page can claim to be one, and whoever has installed it trusts it with more than this. */
const walletSchemes = new Set(['chrome-extension:', 'moz-extension:', 'safari-web-extension:']);

/**
 * Why a request is not from this machine's own programs, or undefined when it is. That the port is open to this machine only
 * does not keep out web pages: the browser is on this machine too. A page of somebody else's comes with its Origin, or, when its name was
 * made to point here, with that name as the Host.
 */
export function findIntrusion({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
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

/** A page can send anything but this without asking first. */
export function isJson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
