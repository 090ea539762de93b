import { isLoopback } from '../../kernel/loopback.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';

/**
 * Whether a URL leads to this service, however its host is spelled. On this machine the port alone identifies the server; elsewhere
 * the name does.
 */
export function isOwnUrl(text: string, publicUrl: string): boolean {
  const [asked, own] = [parseUrl(text), parseUrl(publicUrl)];
  if (asked === undefined || own === undefined) return false;
  if (!/^https?:$/.test(asked.protocol)) return false;
  const [host, ownHost] = [bare(asked), bare(own)];
  if (isThisMachine(ownHost)) return isThisMachine(host) && portOf(asked) === portOf(own);
  // Behind a proxy, http and https reach the same server.
  return host === ownHost && (portOf(asked) === portOf(own) || (asked.port === '' && own.port === ''));
}

/** A connection to the unspecified address reaches this machine, too. */
function isThisMachine(host: string): boolean {
  return isLoopback(host) || host === '0.0.0.0' || host === '[::]';
}

function bare({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
