import { describe, expect, it } from 'vitest';
import { plain, show, toJson } from './show.ts';

describe('what strangers wrote', () => {
  const hostile = 'Bob\u001b[31m\u009b2J\u202e\r\nx';

  it('cannot steer the terminal', () => {
    expect(plain(hostile)).toBe('Bob\ufffd[31m\ufffd2J\ufffd\ufffd\ufffdx');
    expect(plain(hostile, { lines: true })).toContain('\n');
    expect(show({ name: hostile, items: [hostile] }).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it('is the same in JSON, and cannot steer the terminal there', () => {
    for (const indent of [undefined, 2]) {
      const text = toJson({ name: hostile, list: [1, { a: null }] }, indent);
      expect(JSON.parse(text)).toEqual({ name: hostile, list: [1, { a: null }] });
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });
});

it('shows an answer as aligned lines', () => {
  expect(show({ id: 'inv_1', amount: 5, payer: { handle: 'PA-1', name: 'Ada' }, none: null, empty: [] })).toBe(
    ['id            inv_1', 'amount        5', 'payer.handle  PA-1', 'payer.name    Ada', 'none'].join('\n'),
  );
});

it('shows a page as a table without empty columns, and how to get the next one', () => {
  const rows = [
    { id: 'a', amount: 5, note: null },
    { id: 'bc', amount: 12.5, note: null },
  ];
  expect(show({ items: rows, nextCursor: 'c2' })).toBe('id  amount\na        5\nbc    12.5\n\nMore: --cursor c2');
  expect(show({ items: [], nextCursor: null })).toBe('No items.');
});
