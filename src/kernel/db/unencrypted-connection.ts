import pg from 'pg';
import { isLoopback } from '../loopback.ts';
import { urlsOfHosts } from '../several-hosts.ts';

/** What the driver makes of a URL with its options, files and environment variables. */
interface Target {
  readonly host: string;
  readonly ssl: boolean | { readonly rejectUnauthorized?: boolean; readonly checkServerIdentity?: unknown };
}

/**
 * Whether a network attacker could read or forge the traffic: no TLS, or TLS without checking the certificate. A Unix
 * socket and loopback are safe.
 */
export function isUnencrypted(url: string): boolean {
  return urlsOfHosts(url).some(isOneUnencrypted);
}

function isOneUnencrypted(url: string): boolean {
  const { host, ssl } = new pg.Client({ connectionString: url }) as unknown as Target;
  if (host.startsWith('/') || isLoopback(host)) return false;
  if (typeof ssl === 'boolean') return !ssl;
  return ssl.rejectUnauthorized === false || ssl.checkServerIdentity !== undefined;
}
