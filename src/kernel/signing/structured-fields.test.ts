import { expect, test } from 'vitest';
import { readDictionary } from './structured-fields.ts';

test('reads what signatures are described by', () => {
  const text = 'sig1=("@method" "x-a");created=1;keyid="a\\"b";tag="t", other=:AQI=:';
  const read = readDictionary(text);
  expect([...(read?.keys() ?? [])]).toEqual(['sig1', 'other']);
  expect(read?.get('sig1')).toEqual({
    value: [
      { value: '@method', parameters: new Map() },
      { value: 'x-a', parameters: new Map() },
    ],
    parameters: new Map<string, unknown>([
      ['created', 1],
      ['keyid', 'a"b'],
      ['tag', 't'],
    ]),
    text: '("@method" "x-a");created=1;keyid="a\\"b";tag="t"',
  });
  expect(read?.get('other')?.value).toEqual(Buffer.from([1, 2]));
});

test('reads every kind of item', () => {
  const kinds = readDictionary('a=-5, b=1.5, c=?0, d=token/x, e, f=(), g=("x";sf)');
  expect([...(kinds?.values() ?? [])].map(({ value }) => value)).toEqual([
    -5,
    1.5,
    false,
    { token: 'token/x' },
    true,
    [],
    [{ value: 'x', parameters: new Map([['sf', true]]) }],
  ]);
});

test.each([
  '',
  ',',
  'a=1,',
  'a=1, a=2',
  'a=1;b;b',
  'A=1',
  'a="x',
  'a="\\x"',
  'a="ä"',
  'a="x\ny"',
  'a=(',
  'a=( "x")',
  'a=("x"  "y")',
  'a=("x""y")',
  'a=("x") ;b',
  'a=:x',
  'a=:AQJ=:',
  'a=1234567890123456',
  'a=1 b=2',
])('%j is none of it', (text) => {
  expect(readDictionary(text)).toBeUndefined();
});
