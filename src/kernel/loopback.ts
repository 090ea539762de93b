import { isIPv4 } from 'node:net';

/** Whether a host of a URL is this machine, so that nobody stands between us and it. Names other than one are not looked up. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'));
}
