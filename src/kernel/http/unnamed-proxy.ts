import type { BlockList } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Logger } from '../log/logger.ts';
import { isTrusted, plainAddress } from './client-address.ts';
import { isOwnNetwork } from './trusted-proxies.ts';

/**
 * Behind a proxy that TRUSTED_PROXIES does not name, everybody comes from the proxy's address and shares one limit. It shows
 * by a header that only proxies write, on a connection from a network of the operator's own. Said once.
 */
export function createProxyNotice({ trustedProxies }: { readonly trustedProxies: BlockList }, logger: Logger) {
  let said = false;
  return ({ headers, socket }: FastifyRequest): void => {
    if (said || (headers['x-forwarded-for'] === undefined && headers['forwarded'] === undefined)) return;
    const address = plainAddress(socket.remoteAddress ?? '');
    if (!ipaddr.isValid(address) || !isOwnNetwork(ipaddr.parse(address)) || isTrusted(trustedProxies, address)) return;
    said = true;
    logger.warn(
      { proxy: address },
      'requests come through a proxy that TRUSTED_PROXIES does not name: all of them are counted as one address',
    );
  };
}
