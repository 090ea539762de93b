import { isIPv6 } from 'node:net';
import { parseUrl } from '../text/parse-url.ts';

export interface HostAndPort {
  /** As a URL spells it: lower case, an IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads the list of ALLOW_PRIVATE_HOSTS: `host:port, …`. Undefined when one of its parts names no exact place. */
export function parsePrivateHosts(text: string): readonly HostAndPort[] | undefined {
  const places: HostAndPort[] = [];
  for (const part of text
    .split(',')
    .map((piece) => piece.trim())
    .filter(Boolean)) {
    const place = parsePlace(part);
    if (place === undefined) return undefined;
    places.push(place);
  }
  return places;
}

function parsePlace(text: string): HostAndPort | undefined {
  const [, host = '', digits = ''] = /^(\[[0-9a-f:.]+\]|[0-9a-z_.-]+):([1-9]\d{0,4})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host === '' || port > 65_535 || host.endsWith('.')) return undefined;
  if (parseUrl(`http://${host}:${port}/`) === undefined) return undefined;
  const { hostname } = new URL(`http://${host}:${port}/`);
  // An address has one spelling here, so that nobody has to guess what 127.1 or 0177.0.0.1 lets through.
  if (hostname !== host.toLowerCase() && !isIPv6(host.slice(1, -1))) return undefined;
  return { host: hostname, port };
}
