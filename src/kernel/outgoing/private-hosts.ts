import { isIPv6 } from 'node:net';
import { parseUrl } from '../text/parse-url.ts';

export interface HostAndPort {
  /** As in a URL: lower case, IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads ALLOW_PRIVATE_HOSTS: `host:port, …`. Returns undefined when an entry is not an exact host and port. */
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
  // Only the canonical spelling is accepted, so that 127.1 or 0177.0.0.1 cannot be misread.
  if (hostname !== host.toLowerCase() && !isIPv6(host.slice(1, -1))) return undefined;
  return { host: hostname, port };
}
