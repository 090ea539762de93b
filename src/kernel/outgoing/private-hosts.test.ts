import { expect, test } from 'vitest';
import { parsePrivateHosts, portsOf } from './private-hosts.ts';

test('places are read as URLs spell them', () => {
  expect(parsePrivateHosts('')).toEqual([]);
  expect(parsePrivateHosts(' LocalHost:9000 ,127.0.0.1:9001,, [0:0::1]:80,db.internal:65535')).toEqual([
    { host: 'localhost', port: 9000 },
    { host: '127.0.0.1', port: 9001 },
    { host: '[::1]', port: 80 },
    { host: 'db.internal', port: 65_535 },
  ]);
});

test.each([
  'localhost',
  'localhost:',
  ':9000',
  'localhost:0',
  'localhost:09000',
  'localhost:65536',
  'localhost:9000/path',
  'localhost:*',
  '*:9000',
  '*.local:9000',
  'localhost.:9000',
  'http://localhost:9000',
  'user@localhost:9000',
  '127.1:9000',
  '0177.0.0.1:9000',
  '2130706433:9000',
  '10.0.0.0/8:9000',
  '::1:9000',
  '[::1]',
  '[::g]:9000',
  '[127.0.0.1]:9000',
  'lócalhost:9000',
  'localhost 9000',
  'localhost:9000 localhost:9001',
  'localhost:9000, nonsense',
])('"%s" names no exact place', (text) => {
  expect(parsePrivateHosts(text)).toBeUndefined();
});

test('the ports of our own parts are found in their URLs', () => {
  expect(
    portsOf([
      'postgres://u:p@127.0.0.1:54321/paywright',
      'postgresql://db.internal/paywright',
      'postgres://localhost:6000/paywright?host=/tmp&port=6001',
      'redis://cache',
      'rediss://cache:6380',
      'http://127.0.0.1:38545/matic',
      'http://127.0.0.1:38545/eth',
    ]),
  ).toEqual([54_321, 5_432, 6_000, 6_001, 6_379, 6_380, 38_545]);
});
