import { describe, expect, it } from 'vitest';
import { decodeHeader, encodeHeader } from './header.ts';
import { chainOfNetwork, networkName } from './messages.ts';

const nested = (levels: number) => Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}`).toString('base64');

describe('a header', () => {
  it('round-trips any text', () => {
    const content = { x402Version: 2, error: 'zu wenig Gültiges — 足りない' };
    expect(decodeHeader(encodeHeader(content))).toEqual(content);
  });

  it('may be nested a hundred levels deep', () => {
    expect(decodeHeader(nested(100))).toBeDefined();
  });

  it.each([
    ['nothing', ''],
    ['no base64', '{"x402Version":2}'],
    ['no JSON', Buffer.from('x402').toString('base64')],
    ['JSON cut off', encodeHeader({ x402Version: 2 }).slice(0, 12)],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64')],
    ['a prototype', Buffer.from('{"__proto__":{"scheme":"exact"}}').toString('base64')],
    ['too many levels', nested(101)],
    ['as many levels as fit', nested(6_000)],
  ])('of %s is refused', (_, text) => {
    expect(decodeHeader(text)).toBeUndefined();
  });
});

it('maps chain names in both versions', () => {
  expect(networkName('MATIC', 1)).toBe('polygon');
  expect(networkName('MATIC', 2)).toBe('eip155:137');
  expect(chainOfNetwork('polygon', 1)).toBe('MATIC');
  expect(chainOfNetwork('eip155:8453', 2)).toBe('BASE');
  expect(chainOfNetwork('polygon', 2)).toBeUndefined();
});
