import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Answers for every cloud machine as its own platform, though it looks like anybody's address. */
const platforms = new Set(['168.63.129.16']);

/**
 * Whether an address belongs to the public internet. Everything with a special meaning is not: addresses of this machine,
 * of private networks, of carriers, for documentation, and those that carry an IPv4 address inside.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalUnicast);
  return !platforms.has(parsed.toString());
}
