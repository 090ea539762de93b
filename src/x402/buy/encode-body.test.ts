import { expect, test } from 'vitest';
import { encodeBody } from './encode-body.ts';

const encode = (type: string | undefined, bytes: string | readonly number[]) =>
  encodeBody({
    headers: type === undefined ? {} : { 'content-type': type },
    body: typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes),
  });

test.each([
  'text/plain',
  'text/html; charset=UTF-8',
  'application/json',
  'application/problem+json; charset=utf-8',
  'application/vnd.api+json',
  'image/svg+xml',
  undefined,
])('%s is text', (type) => {
  expect(encode(type, 'süß')).toEqual({ body: 'süß', encoding: 'utf8' });
});

test.each(['image/png', 'application/octet-stream', 'application/pdf', 'text/plain; charset=iso-8859-1'])(
  '%s is told byte by byte',
  (type) => {
    expect(encode(type, 'abc')).toEqual({ body: 'YWJj', encoding: 'base64' });
  },
);

test('text with invalid bytes is base64', () => {
  expect(encode('text/plain', [0xff, 0x00])).toEqual({ body: '/wA=', encoding: 'base64' });
  expect(encode('application/json', [0x61, 0x00])).toEqual({ body: 'YQA=', encoding: 'base64' });
});
