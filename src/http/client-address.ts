import { type BlockList, isIP, isIPv6 } from 'node:net';

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

/**
 * What requests without a key are counted by. A household or a server is given a whole /64 of IPv6 addresses, so
 * counting single ones would be no limit at all.
 */
export function addressBucket(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('%')[0]?.split('::') ?? [];
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array<string>(Math.max(0, zeros)).fill('0'), ...back];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
