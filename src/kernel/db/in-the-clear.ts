import pg from 'pg';
import { isLoopback } from '../loopback.ts';

/** What the driver makes of an address: its options, files and environment variables included. */
interface Target {
  readonly host: string;
  readonly ssl: boolean | { readonly rejectUnauthorized?: boolean; readonly checkServerIdentity?: unknown };
}

/**
 * Whether what we say to this database can be read or answered by somebody on the way: no TLS, or TLS that does not look
 * whom it talks to. A socket and this machine are not on any way.
 */
export function isInTheClear(url: string): boolean {
  const { host, ssl } = new pg.Client({ connectionString: url }) as unknown as Target;
  if (host.startsWith('/') || isLoopback(host)) return false;
  if (typeof ssl === 'boolean') return !ssl;
  return ssl.rejectUnauthorized === false || ssl.checkServerIdentity !== undefined;
}
