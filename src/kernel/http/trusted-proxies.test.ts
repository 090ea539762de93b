import { expect, test } from 'vitest';
import { coversPublicInternet, parseRanges, toBlockList } from './trusted-proxies.ts';

test.each([
  '0.0.0.0/0',
  '::/0',
  '10.0.0.0/8, 0.0.0.0/0',
  '0.0.0.0/1,128.0.0.0/1',
  '8.0.0.0/6, 16.0.0.0/6, 32.0.0.0/6',
  '10.0.0.0/4',
  '2000::/3',
  '::ffff:0:0/96',
  '::ffff:0:0/100',
  '::/80',
  '::/16',
])('%s trusts everybody', (text) => {
  expect(coversPublicInternet(parseRanges(text) ?? [])).toBe(true);
});

test.each([
  '',
  '127.0.0.1',
  '::1',
  '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7,fe80::/10',
  '104.16.0.0/13,172.64.0.0/13,13.32.0.0/15,2400:cb00::/32,2606:4700::/32',
  '192.0.2.7',
])('%s does not', (text) => {
  expect(coversPublicInternet(parseRanges(text) ?? [])).toBe(false);
});

test.each(['10.0.0.0/33', '10.1', '10.0.0.0/8/8', '::/129', '10.0.0.0/', 'proxy.internal', '10.0.0.0/-1'])(
  '%s is no list of ranges',
  (text) => {
    expect(parseRanges(text)).toBeUndefined();
  },
);

test('a list holds what was written, of both families', () => {
  const list = toBlockList(parseRanges('10.0.0.0/8, 192.0.2.1,2001:db8::/32') ?? []);
  expect(list.check('10.1.2.3')).toBe(true);
  expect(list.check('192.0.2.1')).toBe(true);
  expect(list.check('192.0.2.2')).toBe(false);
  expect(list.check('2001:db8::1', 'ipv6')).toBe(true);
});
