import { isLoopback } from '../kernel/loopback.ts';

/**
 * Whether a node is asked in the clear over a network: then anybody on the way can answer in its place. To this machine itself
 * nobody is on the way.
 */
export function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
