import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether a host, with or without the brackets that a URL puts around IPv6, can only be this machine. Names other than
 * `localhost` are not looked up, because an answer of DNS may change.
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost') return true;
  // ipaddr.js alone would also accept 127.1 and 0x7f000001.
  return isIP(bare) !== 0 && ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
}
