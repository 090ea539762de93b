import { BlockList } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Logger } from '../log/logger.ts';
import { isTrusted, plainAddress } from './client-address.ts';

interface AddressRange {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefix: number;
}

/** Reads comma-separated addresses and CIDR ranges. Returns undefined when one is invalid. */
export function parseRanges(text: string): readonly AddressRange[] | undefined {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  const ranges = parts.map(parseRange);
  return ranges.every((range) => range !== undefined) ? ranges : undefined;
}

function parseRange(text: string): AddressRange | undefined {
  const [written = '', prefix, ...rest] = text.split('/');
  // Accepts only unambiguous notation: "10.1" and "0x0a000001" are also IPv4 addresses.
  if (rest.length > 0 || !(ipaddr.IPv4.isValidFourPartDecimal(written) || ipaddr.IPv6.isValid(written)))
    return undefined;
  const address = ipaddr.parse(written);
  const widest = address.kind() === 'ipv6' ? 128 : 32;
  if (prefix === undefined) return { address, prefix: widest };
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= widest ? { address, prefix: Number(prefix) } : undefined;
}

export function toBlockList(ranges: readonly AddressRange[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix } of ranges) list.addSubnet(address.toString(), prefix, address.kind());
  return list;
}

/** Networks that only the operator's own machines can be in. */
const ownNetworks = ['private', 'uniqueLocal', 'loopback', 'linkLocal', 'carrierGradeNat'];

/** The largest share of public addresses that may be trusted, a /8 in IPv4. No provider's proxies need more. */
const largestShare = { ipv4: 2 ** -8, ipv6: 2 ** -16 };

/** Whether the ranges cover so much of the public Internet that clients could forge their address. */
export function coversPublicInternet(ranges: readonly AddressRange[]): boolean {
  const share = { ipv4: 0, ipv6: 0 };
  for (const range of ranges) if (!isOwn(range)) share[range.address.kind()] += 2 ** -range.prefix;
  return share.ipv4 > largestShare.ipv4 || share.ipv6 > largestShare.ipv6 || ranges.some(isMapped);
}

function isOwn({ address, prefix }: AddressRange): boolean {
  const whole = `${address.toString()}/${prefix}`;
  const ends =
    address.kind() === 'ipv6'
      ? [ipaddr.IPv6.networkAddressFromCIDR(whole), ipaddr.IPv6.broadcastAddressFromCIDR(whole)]
      : [ipaddr.IPv4.networkAddressFromCIDR(whole), ipaddr.IPv4.broadcastAddressFromCIDR(whole)];
  return ends.every(isPrivateNetwork);
}

function isPrivateNetwork(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return ownNetworks.includes(address.range());
}

const mapped = ipaddr.IPv6.parse('::ffff:0:0');

/** Whether a range covers IPv4-mapped addresses, in whole or in part. */
function isMapped({ address, prefix }: AddressRange): boolean {
  if (address.kind() === 'ipv4') return false;
  return prefix < 128 && mapped.match(address as ipaddr.IPv6, Math.min(prefix, 96));
}

/**
 * Warns once when requests come through a proxy that TRUSTED_PROXIES does not name, because all clients then share the
 * proxy's limit. The sign is a forwarding header on a connection from a private network.
 */
export function createProxyNotice({ trustedProxies }: { readonly trustedProxies: BlockList }, logger: Logger) {
  let said = false;
  return ({ headers, socket }: FastifyRequest): void => {
    if (said || (headers['x-forwarded-for'] === undefined && headers['forwarded'] === undefined)) return;
    const address = plainAddress(socket.remoteAddress ?? '');
    if (!ipaddr.isValid(address) || !isPrivateNetwork(ipaddr.parse(address)) || isTrusted(trustedProxies, address))
      return;
    said = true;
    logger.warn(
      { proxy: address },
      'requests come through a proxy that TRUSTED_PROXIES does not name: all clients share one rate limit',
    );
  };
}
