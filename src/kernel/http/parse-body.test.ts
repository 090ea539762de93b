import { describe, expect, test } from 'vitest';
import { parseJsonBody } from './parse-body.ts';

const parse = (text: string) => parseJsonBody(Buffer.from(text));
const nested = (levels: number, inner = '1') => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`;

describe('a body that is nested', () => {
  test('a hundred levels deep is read', () => {
    expect(parse(nested(100))).toBeDefined();
    expect(parse(`{"a":${nested(99)},"b":${nested(99)}}`)).toBeDefined();
  });

  test.each([
    nested(101),
    nested(10_000),
    '['.repeat(200_000),
    `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`,
    `{"text":"]]]","more":${nested(100)}}`,
  ])('deeper is refused, and nothing is thrown but that', (text) => {
    expect(() => parse(text)).toThrow('nested deeper than 100 levels');
  });

  test('in its texts alone is not nested', () => {
    const text = '[[{'.repeat(1_000);
    expect(parse(JSON.stringify({ text }))).toEqual({ text });
    const tricky = `\\"${'['.repeat(300)}`;
    expect(parse(JSON.stringify({ tricky }))).toEqual({ tricky });
  });
});

test('a body may begin with a byte order mark, whatever else it contains', () => {
  for (const text of ['lunch', 'protocol', 'caf\\u00e9']) {
    expect(parse(`\uFEFF{"text":"${text}"}`)).toEqual({ text: JSON.parse(`"${text}"`) });
  }
});
