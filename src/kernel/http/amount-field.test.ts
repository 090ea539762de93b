import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expandExponent, toDecimalText } from '../../money/amount.ts';
import { shortestDecimal } from '../../money/parse-amount.ts';
import { amountField, GivenAmount, requireAmount } from './amount-field.ts';
import type { Problem } from './problem.ts';
import { validate } from './validate.ts';

const read = (value: unknown) => validate('body', amountField, value) as GivenAmount;

function refusalOf(value: unknown): string {
  try {
    return toDecimalText(requireAmount('USDC', read(value)));
  } catch (error) {
    return (error as Problem).message;
  }
}

test.each([
  [50, '50'],
  ['50', '50'],
  ['50.00', '50'],
  ['050.0', '50'],
  [0.5, '0.5'],
  ['0.5', '0.5'],
  ['.5', '0.5'],
  [1e-6, '0.000001'],
  ['900000000', '900000000'],
])('%j is an amount', (given, text) => {
  expect(toDecimalText(requireAmount('USDC', read(given)))).toBe(text);
});

test.each([
  ['1e3', 'must be a decimal number such as 12.5'],
  ['1,5', 'must be a decimal number such as 12.5'],
  [' ', 'must be a decimal number such as 12.5'],
  ['', 'must be a decimal number such as 12.5'],
  ['0x1', 'must be a decimal number such as 12.5'],
  ['Infinity', 'must be a decimal number such as 12.5'],
  ['+5', 'must be a decimal number such as 12.5'],
  ['-5', 'must be a decimal number such as 12.5'],
  ['5.', 'must be a decimal number such as 12.5'],
  [-5, 'must be more than 0'],
  ['0.00', 'must be more than 0'],
  [1e-7, 'must have at most 6 decimals for USDC'],
  ['0.0000001', 'must have at most 6 decimals for USDC'],
  ['900000001', 'must be at most 900000000'],
  [null, 'must be a number such as 12.5, or a decimal string'],
  [true, 'must be a number such as 12.5, or a decimal string'],
  [[5], 'must be a number such as 12.5, or a decimal string'],
])('%j is refused', (given, why) => {
  expect(refusalOf(given)).toContain(`${why}.`);
});

describe('a request is recognised by', () => {
  test.each([
    [[50, '50', '50.00', '050'], 50],
    [['.5', 0.5, '0.50'], 0.5],
    [[1e-7, '0.0000001'], 1e-7],
    [['1.000000000000000001', '01.0000000000000000010'], '1.000000000000000001'],
  ])('the amount and not its spelling: %j', (spellings, form) => {
    for (const given of spellings) expect(new GivenAmount(given).toJSON()).toBe(form);
  });

  test('the same form for each number as for its text', () => {
    const formOf = (given: number) => {
      const text = shortestDecimal(expandExponent(String(given)));
      if (text === undefined) return given;
      return expandExponent(String(Number(text))) === text ? Number(text) : text;
    };
    const edges = fc.constantFrom(0, -0, 1e-6, 9.999e-7, 1e21, 999999999999999900000, Number.NaN, Number.MAX_VALUE);
    const numbers = fc.oneof(edges, fc.double(), fc.double({ min: 1e-7, max: 1e9 }), fc.integer(), fc.maxSafeNat());
    fc.assert(fc.property(numbers, (given) => Object.is(new GivenAmount(given).toJSON(), formOf(given))));
  });

  test('what was sent, where that is no amount', () => {
    for (const given of ['x', '', '1e3', -1]) expect(new GivenAmount(given).toJSON()).toBe(given);
  });

  test('different amounts differ', () => {
    const near = ['100000000000000000.1', '100000000000000000.2', '100000000000000000'];
    expect(new Set(near.map((given) => JSON.stringify(new GivenAmount(given)))).size).toBe(3);
  });
});
