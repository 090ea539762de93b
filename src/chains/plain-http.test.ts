import { expect, test } from 'vitest';
import { isPlainHttp } from './plain-http.ts';

test.each([
  ['https://polygon.example.com/key', false],
  ['http://polygon.example.com/key', true],
  ['http://10.0.0.7:8545', true],
  ['http://127.0.0.1:8545', false],
  ['http://127.9.9.9:8545', false],
  ['http://localhost:8545', false],
  ['http://[::1]:8545', false],
  ['http://127.0.0.1.example.com', true],
  ['http://localhost.example.com', true],
  ['http://[2001:db8::1]', true],
])('%s', (url, expected) => {
  expect(isPlainHttp(url)).toBe(expected);
});
