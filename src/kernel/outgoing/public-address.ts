import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Azure's platform endpoint inside every virtual machine, although the address looks public. */
const platforms = new Set(['168.63.129.16']);

/**
 * Whether an address is on the public internet. Special ranges are not: loopback, private networks, carrier-grade NAT,
 * documentation, and addresses that embed an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalUnicast);
  return !platforms.has(parsed.toString());
}
