import { expect, test } from 'vitest';
import { isLoopback } from './loopback.ts';

test.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['[::1]', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:127.0.0.1', true],
  ['[::ffff:7f00:1]', true],
  ['', false],
  ['[]', false],
  ['localhost.example.com', false],
  ['box.localhost', false],
  ['127.0.0.1.example.com', false],
  ['127.1', false],
  ['0x7f000001', false],
  ['10.0.0.1', false],
  ['0.0.0.0', false],
  ['::', false],
  ['[::2]', false],
  ['::ffff:10.0.0.1', false],
  ['fe80::1%eth-0', false],
  ['db', false],
])('isLoopback("%s") is %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
