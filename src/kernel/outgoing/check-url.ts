import { isIP, isIPv4 } from 'node:net';
import { parseUrl } from '../text/parse-url.ts';
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

type Destination =
  | { readonly refusal: string }
  | (HostAndPort & { readonly refusal?: never; readonly publicOnly: boolean });

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
    return { refusal: `Port ${port} is not allowed.` };
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
    return isPublicAddress(address) ? undefined : 'The host must be a public address; this one is private or reserved.';
  }
  if (hostname.endsWith('.')) return 'The host must not end with a dot.';
  if (!hostname.includes('.')) return 'The host must be a full domain name or a public IP address.';
  if (innerName.test(hostname)) return 'The host must be public; this name belongs to a private network.';
  const labels = hostname.split('.');
  if (hostname.length > 253 || !labels.every((part) => label.test(part)) || !/^[a-z]/.test(labels.at(-1) ?? '')) {
    return 'The host is not a valid name.';
  }
  return undefined;
}

export type CheckedUrl = { readonly refusal: string } | { readonly refusal?: never; readonly url: URL };

const longest = 2_048;

/** Refuses a URL by its form alone. The addresses that the name resolves to are checked when the connection is opened. */
export function checkUrl(text: string, rules: DestinationRules): CheckedUrl {
  if (text.length > longest) return { refusal: `The URL must not be longer than ${longest} characters.` };
  // The URL parser would silently drop or replace these, so the checked URL would differ from the written one; or they
  // are invisible.
  if (/[\p{Cc}\p{Cs}\p{Cf}\p{Co}\p{Z}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}/u.test(text)) {
    return { refusal: 'The URL must not contain spaces, line breaks or control characters.' };
  }
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(text) ?? [];
  if (!/^https?$/i.test(scheme)) return { refusal: 'The URL must begin with https://.' };
  if (text.includes('\\')) return { refusal: 'The URL must not contain a backslash.' };
  if (authority.includes('@')) return { refusal: 'The URL must not contain a user name or a password.' };
  const url = parseUrl(text);
  if (authority === '' || authority.includes('%') || url === undefined) return { refusal: 'The URL is not valid.' };

  if (url.href.length > longest) return { refusal: `The URL must not be longer than ${longest} characters.` };
  const written = authority.replace(/:\d*$/, '');
  if (isIPv4(url.hostname) && written !== url.hostname) {
    return { refusal: 'An IPv4 address must be written as four decimal numbers.' };
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const { refusal } = findDestination({ protocol: url.protocol, hostname: url.hostname, port }, rules);
  return refusal === undefined ? { url } : { refusal };
}
