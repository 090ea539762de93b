import { expect, test } from 'vitest';
import { handlerName } from './payment-handler.ts';

test.each([
  ['https://pay.example.com', 'com.example.pay.paywright'],
  ['https://Example.com:8443/below', 'com.example.paywright'],
  ['http://127.0.0.1:8402', 'localhost.paywright'],
  ['http://[::1]:8402', 'localhost.paywright'],
  ['http://localhost:8402', 'localhost.paywright'],
])('%s is %s', (publicUrl, name) => {
  expect(handlerName(publicUrl)).toBe(name);
});
