import { parseUrl } from '../../kernel/text/parse-url.ts';

/** An address of this machine, in any of its usual spellings. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|0\.0\.0\.0|\[::\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/;

/**
 * Whether a URL leads to ourselves: the address that people reach us at, whoever spells it how. On this machine one port is one
 * server, whatever its address is called; elsewhere the name tells.
 */
export function isOwnUrl(text: string, publicUrl: string): boolean {
  const [asked, own] = [parseUrl(text), parseUrl(publicUrl)];
  if (asked === undefined || own === undefined) return false;
  if (!/^https?:$/.test(asked.protocol)) return false;
  const [host, ownHost] = [bare(asked), bare(own)];
  if (loopback.test(ownHost)) return loopback.test(host) && portOf(asked) === portOf(own);
  // Behind a proxy plain http and https are the same door.
  return host === ownHost && (portOf(asked) === portOf(own) || (asked.port === '' && own.port === ''));
}

function bare({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
