import { isIP } from 'node:net';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';

export interface Website {
  /** The origin of the first request. */
  readonly origin: string;
  /** Without www., and with the port if it has one. */
  readonly name: string;
}

export type ReadWebsite = { readonly refusal: string } | ({ readonly refusal?: never } & Website);

/**
 * Reads a domain in any usual spelling. A port is allowed only if a sandbox's ALLOW_PRIVATE_HOSTS names exactly that host and
 * port. Plain http is used only there and for the sandbox's own shops.
 */
export function readWebsite(text: string, outgoing: Pick<Outgoing, 'explainRefusal'>): ReadWebsite {
  const trimmed = text.trim();
  const schemed = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed.replace(/^\/\//, '')}`;
  // Only the authority matters. The rest could be anything, and the address guard would reject the URL for it.
  const [, scheme = '', authority = ''] = /^([^:]+):\/\/([^/?#]*)/.exec(schemed) ?? [];
  if (!/^https?$/i.test(scheme)) return { refusal: 'must be a domain, such as shop.example' };
  const port = /:(\d{1,5})$/.exec(authority)?.[1];
  return port === undefined || port === '443' || (port === '80' && /^http$/i.test(scheme))
    ? readDomain(authority.replace(/:\d+$/, '').replace(/\.$/, ''), outgoing)
    : readPlace(`${/^https:/i.test(trimmed) ? 'https' : 'http'}://${authority}`, outgoing);
}

function readDomain(domain: string, outgoing: Pick<Outgoing, 'explainRefusal'>): ReadWebsite {
  const refusal = outgoing.explainRefusal(`https://${domain}/`);
  if (refusal !== undefined) return { refusal: inWords(refusal) };
  const { hostname } = new URL(`https://${domain}/`);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return { refusal: 'must be a domain, not an IP address' };
  // The address guard allows plain http only for the sandbox's shops, which do not speak https.
  const scheme = outgoing.explainRefusal(`http://${hostname}/`) === undefined ? 'http' : 'https';
  return { origin: `${scheme}://${hostname}`, name: hostname.replace(/^www\.(?=.+\.)/, '') };
}

function readPlace(origin: string, outgoing: Pick<Outgoing, 'explainRefusal'>): ReadWebsite {
  const refusal = outgoing.explainRefusal(`${origin}/`) ?? outgoing.explainRefusal(asHttp(origin));
  if (refusal !== undefined) {
    return {
      refusal: 'must not have a port, unless a sandbox lists exactly this host and port in ALLOW_PRIVATE_HOSTS',
    };
  }
  const url = new URL(origin);
  return { origin: url.origin, name: url.host };
}

/** The guard allows plain http only for configured hosts, so this check excludes default ports that are merely open. */
function asHttp(origin: string): string {
  return `${origin.replace(/^https:/, 'http:')}/`;
}

/** The site's own host, with or without www., or a subdomain. */
export function isWithinSite({ name }: Website, { hostname, host }: URL): boolean {
  if (name.includes(':')) return host === name;
  return hostname === host && (hostname === name || hostname.endsWith(`.${name}`));
}

/** The guard's message is about a URL, but the caller sent a domain. */
function inWords(refusal: string): string {
  return `must be a public domain, such as shop.example: ${refusal.replace(/\.$/, '')}`;
}
