import { isIP } from 'node:net';
import type { HostAndPort } from './private-hosts.ts';
import { isPublicAddress } from './public-address.ts';

export interface DestinationRules {
  /** Let through as they are, http and private addresses too. */
  readonly allowPrivateHosts: readonly HostAndPort[];
  /** Hosts that are found here and nowhere else, whatever DNS says. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  /** Never dialled, whoever allows it. */
  readonly forbiddenPorts: () => readonly number[];
}

/** Where a request goes, or why it does not. */
export type Destination =
  | { readonly refusal: string }
  | {
      readonly refusal?: never;
      readonly host: string;
      readonly port: number;
      /** Whether every address of the host must be a public one. */
      readonly publicOnly: boolean;
    };

const publicPorts: ReadonlySet<number> = new Set([80, 443, 8443]);

/** Names that mean this machine or the network it stands in. */
const innerSuffixes = ['localhost', 'local', 'localdomain', 'internal', 'intranet', 'lan', 'corp', 'home', 'private'];
const innerName = new RegExp(`(?:^|\\.)(?:${innerSuffixes.join('|')}|home\\.arpa|in-addr\\.arpa|ip6\\.arpa|onion)$`);
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Asked twice for each request, by its URL and again when a connection is opened, so there is one rule and no way around. */
export function findDestination(
  { protocol, hostname, port }: { protocol: string; hostname: string; port: number },
  { allowPrivateHosts, names, forbiddenPorts }: DestinationRules,
): Destination {
  const named = port === 80 || port === 443 ? names.get(hostname) : undefined;
  const target = named ?? { host: hostname, port };
  const isAllowed =
    named !== undefined || allowPrivateHosts.some((place) => place.host === hostname && place.port === port);
  // Any other port is refused below like every other port: nobody learns from it which ones our own parts listen on.
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
