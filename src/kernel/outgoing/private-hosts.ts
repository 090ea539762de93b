import { isIPv6 } from 'node:net';
import { parseUrl } from '../text/parse-url.ts';

const defaultPorts: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'redis+sentinel:': 26_379,
  'rediss+sentinel:': 26_379,
  'http:': 80,
  'https:': 443,
};

/** The ports of our own services, which no user's URL may reach. */
export function portsOf(urls: readonly string[]): readonly number[] {
  const ports = urls.flatMap((text) => {
    const url = new URL(text);
    // A PostgreSQL URL may name the port in its query.
    const named = [url.port, url.searchParams.get('port') ?? ''].filter((port) => /^\d+$/.test(port)).map(Number);
    return named.length > 0 ? named : [defaultPorts[url.protocol] ?? 0];
  });
  return [...new Set(ports)];
}

export interface HostAndPort {
  /** As in a URL: lower case, IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads ALLOW_PRIVATE_HOSTS: `host:port, …`. Returns undefined when an entry is not an exact host and port. */
export function parsePrivateHosts(text: string): readonly HostAndPort[] | undefined {
  const parts = text.split(',').flatMap((part) => part.trim() || []);
  const places = parts.flatMap((part) => parsePlace(part) ?? []);
  return places.length === parts.length ? places : undefined;
}

function parsePlace(text: string): HostAndPort | undefined {
  const [, host = '', digits = ''] = /^(\[[0-9a-f:.]+\]|[0-9a-z_.-]+):([1-9]\d{0,4})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host === '' || port > 65_535 || host.endsWith('.')) return undefined;
  const hostname = parseUrl(`http://${host}:${port}/`)?.hostname;
  if (hostname === undefined) return undefined;
  // Only the canonical spelling is accepted, so that 127.1 or 0177.0.0.1 cannot be misread.
  if (hostname !== host.toLowerCase() && !isIPv6(host.slice(1, -1))) return undefined;
  return { host: hostname, port };
}
