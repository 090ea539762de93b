import { isLoopback } from '../kernel/loopback.ts';

/** Whether a node is reached over a network without TLS, so that anyone on the path could forge its answers. */
export function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
