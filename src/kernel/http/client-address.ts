import { type BlockList, isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const mappedPrefix = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** An IPv4 address that arrived on an IPv6 socket is the IPv4 address. */
export function plainAddress(address: string): string {
  return address.replace(mappedPrefix, '');
}

/**
 * The address a request came from. Some proxies append the port, and what is no address at all was made up: then only
 * the connection itself can be believed.
 */
export function clientAddress(named: string, connection: string | undefined): string {
  const bare = plainAddress(named.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1'));
  return isIP(bare) === 0 ? plainAddress(connection ?? '') : bare;
}

export function trustsAnybody(proxies: BlockList): boolean {
  return proxies.rules.length > 0;
}

export function isTrusted(proxies: BlockList, address: string): boolean {
  const plain = plainAddress(address);
  return proxies.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
}

/** Who an address belongs to: itself, and in IPv6 the network that its owner was given. */
export interface AddressNetworks {
  /**
   * What single addresses are counted as. A household or a server is given a whole /64 of IPv6 addresses, so counting single
   * ones would be no limit at all.
   */
  readonly nearest: string;
  /** The /48 that an office or a customer of a hosting company is given, with 65,536 of the former. IPv4 has none. */
  readonly wider: string | undefined;
}

/** How many of its /64 a /48 may be as busy as, in limits that have no figure of their own for it. */
export const busyNetworks = 4;

export function networksOf(address: string): AddressNetworks {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return { nearest: plain, wider: undefined };
  const parsed = ipaddr.IPv6.parse(plain);
  if (parsed.isIPv4MappedAddress()) return { nearest: parsed.toIPv4Address().toString(), wider: undefined };
  const groups = parsed.parts.map((group) => group.toString(16));
  return { nearest: `${groups.slice(0, 4).join(':')}::/64`, wider: `${groups.slice(0, 3).join(':')}::/48` };
}
