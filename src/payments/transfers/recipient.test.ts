import { expect, test } from 'vitest';
import { readRecipient } from './recipient.ts';

test.each([
  ['PA-ABCD1234', { handle: 'PA-ABCD1234' }],
  [' pa-abcd1234 ', { handle: 'PA-ABCD1234' }],
  ['Ada@Example.com', { email: 'ada@example.com' }],
  ['+1 (415) 555-0123', { phone: '+14155550123' }],
])('%s', (text, expected) => {
  expect(readRecipient(text)).toEqual(expected);
});

test.each([
  '',
  ' ',
  'ada',
  'PA-123',
  '@',
  'a@b',
  '4155550123',
  ' 3125550123',
  'x'.repeat(10_000),
  `${'a'.repeat(400)}@b.co`,
])('"%s" is not a recipient', (text) => {
  expect(readRecipient(text)).toBeUndefined();
});
