import type { BlockList } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Logger } from '../log/logger.ts';
import { isTrusted, plainAddress } from './client-address.ts';
import { isOwnNetwork } from './trusted-proxies.ts';

/**
 * Warns once when requests come through a proxy that TRUSTED_PROXIES does not name, because all clients then share the
 * proxy's limit. The sign is a forwarding header on a connection from a private network.
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
      'requests come through a proxy that TRUSTED_PROXIES does not name: all clients share one rate limit',
    );
  };
}
