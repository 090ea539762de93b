import { isIP } from 'node:net';
import type { HostAndPort } from './private-hosts.ts';
import { isPublicAddress } from './public-address.ts';

export interface DestinationRules {
  /** Allowed even with http and private addresses. */
  readonly allowPrivateHosts: readonly HostAndPort[];
  /** Hosts with a fixed destination that overrides DNS. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  /** Never reachable, even if allowed otherwise. */
  readonly forbiddenPorts: () => readonly number[];
}

export type Destination =
  | { readonly refusal: string }
  | {
      readonly refusal?: never;
      readonly host: string;
      readonly port: number;
      readonly publicOnly: boolean;
    };

const publicPorts: ReadonlySet<number> = new Set([80, 443, 8443]);

/** Names for this machine or its private network. */
const innerSuffixes = ['localhost', 'local', 'localdomain', 'internal', 'intranet', 'lan', 'corp', 'home', 'private'];
const innerName = new RegExp(`(?:^|\\.)(?:${innerSuffixes.join('|')}|home\\.arpa|in-addr\\.arpa|ip6\\.arpa|onion)$`);
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Checked twice per request, for the URL and again when the connection is opened, so that one rule covers both. */
export function findDestination(
  { protocol, hostname, port }: { protocol: string; hostname: string; port: number },
  { allowPrivateHosts, names, forbiddenPorts }: DestinationRules,
): Destination {
  const named = port === 80 || port === 443 ? names.get(hostname) : undefined;
  const target = named ?? { host: hostname, port };
  const isAllowed =
    named !== undefined || allowPrivateHosts.some((place) => place.host === hostname && place.port === port);
  // Other ports are refused below with the same message, so the refusal does not reveal which ports our own services
  // use.
  if ((isAllowed || publicPorts.has(port)) && forbiddenPorts().includes(target.port)) {
    return { refusal: `Port ${port} is not open to requests.` };
  }
  if (isAllowed) return { ...target, publicOnly: false };
  if (protocol !== 'https:') return { refusal: 'The URL must begin with https://.' };
  if (!publicPorts.has(port)) return { refusal: 'The port must be 443, 8443 or 80.' };
  const refusal = refuseHost(hostname);
  return refusal === undefined ? { ...target, publicOnly: true } : { refusal };
}

function refuseHost(hostname: string): string | undefined {
  const address = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(address) !== 0) {
    return isPublicAddress(address) ? undefined : 'The host must be public: this address is not.';
  }
  if (hostname.endsWith('.')) return 'The host must not end with a dot.';
  if (!hostname.includes('.')) return 'The host must be a full name with a dot in it, or a public address.';
  if (innerName.test(hostname)) return 'The host must be public: names like this belong to a private network.';
  const labels = hostname.split('.');
  if (hostname.length > 253 || !labels.every((part) => label.test(part)) || !/^[a-z]/.test(labels.at(-1) ?? '')) {
    return 'The host is not a valid name.';
  }
  return undefined;
}
