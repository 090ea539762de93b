import { isIP } from 'node:net';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';

/** A merchant's site, as it was meant. */
export interface Website {
  /** Where it is asked first. */
  readonly origin: string;
  /** The name it goes by: without www., and with the port where it has one of its own. */
  readonly name: string;
}

export type ReadWebsite = { readonly refusal: string } | ({ readonly refusal?: never } & Website);

/**
 * Reads a domain in any usual spelling. A port is taken only where the operator of a sandbox has named exactly that place;
 * only there, and for the shops of the sandbox itself, is plain http spoken.
 */
export function readWebsite(text: string, outgoing: Pick<Outgoing, 'explainRefusal'>): ReadWebsite {
  const trimmed = text.trim();
  const schemed = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed.replace(/^\/\//, '')}`;
  // Only the authority matters. What follows may hold anything, and the guard would judge it as part of the address.
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
  // Plain http passes for nobody but the shops of our own sandbox, and these speak nothing else.
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

/** Only a place that was named may be asked in plain http, so this tells a named place from a port that is merely usual. */
function asHttp(origin: string): string {
  return `${origin.replace(/^https:/, 'http:')}/`;
}

/** Whether a host belongs to the site: itself, with www., or a part of it. */
export function isWithinSite({ name }: Website, { hostname, host }: URL): boolean {
  if (name.includes(':')) return host === name;
  return hostname === host && (hostname === name || hostname.endsWith(`.${name}`));
}

/** The guard speaks of a URL; whoever asked has given a domain. */
function inWords(refusal: string): string {
  return `must be a public domain, such as shop.example: ${refusal.replace(/\.$/, '')}`;
}
