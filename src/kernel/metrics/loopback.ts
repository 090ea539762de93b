import { isIPv4 } from 'node:net';

/** Whether only this machine reaches it. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
