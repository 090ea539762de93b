import { expect, test } from 'vitest';
import { isLoopback } from './loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.1', '[::1]', '::1'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['', 'localhost.example.com', '127.0.0.1.example.com', '10.0.0.1', '[::2]', '0.0.0.0', 'db'])(
  '"%s" may be another one',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
