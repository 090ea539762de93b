import type { Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { matchArrivals, type OpenLink, type Payment } from './match-arrivals.ts';

const link = (id: string, atomic: bigint, more: Partial<OpenLink> = {}): OpenLink => ({
  id,
  accountId: 1n,
  asset: 'USDC',
  atomic,
  onlyFor: null,
  isSentByCard: false,
  ...more,
});
const payment = (txHash: Hex, atomic: bigint, more: Partial<Payment> = {}): Payment => ({
  txHash,
  accountId: 1n,
  asset: 'USDC',
  atomic,
  ...more,
});

function match(links: readonly OpenLink[], payments: readonly Payment[]): Record<string, string> {
  return Object.fromEntries([...matchArrivals(links, payments)].map(([{ id }, { txHash }]) => [id, txHash]));
}

describe('a payment is for', () => {
  test('the oldest link that it covers', () => {
    expect(match([link('a', 30n), link('b', 20n), link('c', 10n)], [payment('0x1', 25n)])).toEqual({ b: '0x1' });
  });

  test('the link for exactly its amount, before an older one that it covers', () => {
    expect(match([link('a', 10n), link('b', 25n), link('c', 25n)], [payment('0x1', 25n)])).toEqual({ b: '0x1' });
    const sent = [link('a', 10n), link('b', 25n), link('c', 25n, { isSentByCard: true })];
    expect(match(sent, [payment('0x1', 25n), payment('0x2', 25n)])).toEqual({ c: '0x1', b: '0x2' });
  });

  test('a link with a sent card payment, if none is for exactly its amount', () => {
    const links = [link('a', 10n), link('b', 20n, { isSentByCard: true }), link('c', 30n, { isSentByCard: true })];
    expect(match(links, [payment('0x1', 25n), payment('0x2', 25n)])).toEqual({ b: '0x1', a: '0x2' });
  });

  test('one link; the next payment is for the next link', () => {
    expect(match([link('a', 10n), link('b', 10n)], [payment('0x1', 100n), payment('0x2', 10n)])).toEqual({
      a: '0x1',
      b: '0x2',
    });
  });

  test('no link if it is too small; payments are never added up', () => {
    expect(match([link('a', 10n)], [payment('0x1', 9n), payment('0x2', 9n)])).toEqual({});
  });

  test('no link of another account or in another currency', () => {
    const others = [link('a', 10n, { accountId: 2n }), link('b', 10n, { asset: 'EURC' })];
    expect(match(others, [payment('0x1', 10n)])).toEqual({});
  });

  test('an expired link only if it was seen in time, and then before any other', () => {
    const links = [link('a', 10n), link('b', 10n, { onlyFor: '0x2' })];
    expect(match(links, [payment('0x1', 10n), payment('0x2', 10n)])).toEqual({ a: '0x1', b: '0x2' });
    expect(match(links, [payment('0x2', 10n), payment('0x1', 10n)])).toEqual({ a: '0x1', b: '0x2' });
    expect(match(links, [payment('0x3', 10n), payment('0x4', 10n)])).toEqual({ a: '0x3' });
  });
});
