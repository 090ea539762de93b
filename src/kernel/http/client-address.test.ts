import { BlockList } from 'node:net';
import { expect, test } from 'vitest';
import { clientAddress, isTrusted, networksOf, plainAddress } from './client-address.ts';

test.each([
  ['192.0.2.7', '192.0.2.7', undefined],
  ['::ffff:192.0.2.7', '192.0.2.7', undefined],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
  ['::1', '0:0:0:0::/64', '0:0:0::/48'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
  ['::ffff:c000:207', '192.0.2.7', undefined],
])('%s is counted as %s and %s', (address, nearest, wider) => {
  expect(networksOf(address)).toEqual({ nearest, wider });
});

test('a proxy is trusted in either spelling', () => {
  const proxies = new BlockList();
  proxies.addSubnet('10.0.0.0', 8);
  expect(isTrusted(proxies, '10.1.1.1')).toBe(true);
  expect(isTrusted(proxies, '::ffff:10.1.1.1')).toBe(true);
  expect(isTrusted(proxies, '11.1.1.1')).toBe(false);
  expect(plainAddress('2001:db8::1')).toBe('2001:db8::1');
});

test.each([
  ['9.9.9.9', '9.9.9.9'],
  ['9.9.9.9:1234', '9.9.9.9'],
  ['[2001:db8::1]:1234', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['unknown', '127.0.0.1'],
  ['9.9.9.9, 8.8.8.8', '127.0.0.1'],
  ['', '127.0.0.1'],
])('a proxy that names "%s" means %s', (named, expected) => {
  expect(clientAddress(named, '::ffff:127.0.0.1')).toBe(expected);
});

test('a client that has hung up has no address, and is no trusted proxy', () => {
  const proxies = new BlockList();
  proxies.addSubnet('0.0.0.0', 0);
  expect(clientAddress(undefined, undefined)).toBe('');
  expect(isTrusted(proxies, undefined)).toBe(false);
});
