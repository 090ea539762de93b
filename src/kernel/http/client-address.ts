import { type BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const mappedPrefix = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Turns an IPv4-mapped IPv6 address into plain IPv4. */
export function plainAddress(address: string): string {
  return address.replace(mappedPrefix, '');
}

/**
 * The client's address. Some proxies append the port. A value that is not an address is forged, so the connection's
 * own address counts instead. Both are undefined, and the address is empty, once the client has hung up.
 */
export function clientAddress(named: string | undefined, connection: string | undefined): string {
  if (named === undefined) return plainAddress(connection ?? '');
  if (isIPv4(named)) return named;
  const bare = plainAddress(named.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1'));
  return isIP(bare) === 0 ? plainAddress(connection ?? '') : bare;
}

export function hasTrustedProxies(proxies: BlockList): boolean {
  return proxies.rules.length > 0;
}

/** A connection whose client has hung up has no address. */
export function isTrusted(proxies: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = plainAddress(address);
  return proxies.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
}

export interface AddressNetworks {
  /**
   * The address itself, or its /64 in IPv6: providers assign a whole /64 to one customer, so a limit per address would
   * limit nothing.
   */
  readonly nearest: string;
  /** The /48 in IPv6, which providers assign to offices and hosting customers; it holds 65,536 /64 networks. IPv4 has none. */
  readonly wider: string | undefined;
}

export function networksOf(address: string): AddressNetworks {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return { nearest: plain, wider: undefined };
  const parsed = ipaddr.IPv6.parse(plain);
  if (parsed.isIPv4MappedAddress()) return { nearest: parsed.toIPv4Address().toString(), wider: undefined };
  const groups = parsed.parts.map((group) => group.toString(16));
  return { nearest: `${groups.slice(0, 4).join(':')}::/64`, wider: `${groups.slice(0, 3).join(':')}::/48` };
}

/** A limit per address or /64 and, because a single customer may hold a /48, four times as much per /48. */
export function limitsPerNetwork(ip: string, limit: number): readonly { network: string; limit: number }[] {
  const { nearest, wider } = networksOf(ip);
  const own = { network: nearest, limit };
  return wider === undefined ? [own] : [own, { network: wider, limit: 4 * limit }];
}
