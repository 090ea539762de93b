import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { add, amountOf, expandExponent, subtract, toDecimalText, toJsonNumber } from './amount.ts';
import { assetIds, assets } from './catalogue.ts';
import { amountFromNumber, amountFromText, mostTokens } from './parse-amount.ts';

const fault = (value: number) => {
  const parsed = amountFromNumber('USDC', value);
  return parsed.ok ? parsed.amount.atomic : parsed.fault;
};

describe('a JSON number becomes an amount', () => {
  it('takes what the caller wrote, digit by digit', () => {
    expect(fault(50)).toBe(50_000_000n);
    expect(fault(0.1)).toBe(100_000n);
    expect(fault(0.000001)).toBe(1n);
    expect(fault(1e-6)).toBe(1n);
    expect(fault(123456789.123456)).toBe(123_456_789_123_456n);
    expect(fault(9e8)).toBe(900_000_000_000_000n);
  });

  it('refuses what is no amount of this asset', () => {
    expect(fault(Number.NaN)).toBe('not_an_amount');
    expect(fault(Number.POSITIVE_INFINITY)).toBe('not_an_amount');
    expect(fault(0)).toBe('not_positive');
    expect(fault(-0)).toBe('not_positive');
    expect(fault(-5)).toBe('not_positive');
    expect(fault(Number.NEGATIVE_INFINITY)).toBe('not_an_amount');
    expect(fault(1e-7)).toBe('too_many_decimals');
    expect(fault(0.1 + 0.2)).toBe('too_many_decimals');
    expect(fault(Number.MIN_VALUE)).toBe('too_many_decimals');
    expect(fault(900_000_000.000001)).toBe('too_large');
    expect(fault(1e21)).toBe('too_large');
    expect(fault(Number.MAX_VALUE)).toBe('too_large');
  });

  it('gives back every number it accepts', () => {
    const sixDecimals = fc.bigInt({ min: 1n, max: mostTokens * 1_000_000n });
    fc.assert(
      fc.property(fc.constantFrom('USDC' as const, 'EURC' as const), sixDecimals, (asset, atomic) => {
        const parsed = amountFromNumber(asset, toJsonNumber(amountOf(asset, atomic)));
        return parsed.ok && parsed.amount.atomic === atomic;
      }),
    );
  });

  it('reads a whole number as its text', () => {
    const whole = fc.oneof(fc.integer(), fc.nat(2_000_000_000), fc.constantFrom(-0, 0, 1, 9e8, 9e8 + 1, 2 ** 53, 1e20));
    fc.assert(
      fc.property(fc.constantFrom(...assetIds), whole, (asset, value) => {
        const read = amountFromNumber(asset, value);
        if (value > 0) expect(read).toEqual(amountFromText(asset, String(value)));
        else expect(read).toMatchObject({ fault: 'not_positive' });
      }),
    );
  });

  it('never accepts a number that means something else', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (value) => {
        const parsed = amountFromNumber('USDC', value);
        return !parsed.ok || toJsonNumber(parsed.amount) === value;
      }),
    );
  });
});

describe('decimal text', () => {
  it('is as short as it can be', () => {
    expect(toDecimalText(amountOf('USDC', 100_500_000n))).toBe('100.5');
    expect(toDecimalText(amountOf('USDC', 0n))).toBe('0');
    expect(toDecimalText(amountOf('USDC', -1n))).toBe('-0.000001');
    expect(toDecimalText(amountOf('ETH', 10n ** 18n))).toBe('1');
  });

  it('reads back as the same amount, for every asset', () => {
    fc.assert(
      fc.property(fc.constantFrom(...assetIds), fc.bigInt({ min: 1n, max: 10n ** 24n }), (asset, atomic) => {
        const parsed = amountFromText(asset, toDecimalText(amountOf(asset, atomic)));
        if (atomic > mostTokens * 10n ** BigInt(assets[asset].decimals))
          return !parsed.ok && parsed.fault === 'too_large';
        return parsed.ok && parsed.amount.atomic === atomic;
      }),
    );
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '1e3',
    '1.',
    '.',
    '..5',
    ' .5',
    '0x10',
    'Infinity',
    'NaN',
    '1,5',
    '1_000',
    '٣',
    '9'.repeat(401),
  ])('refuses %j', (text) => {
    expect(amountFromText('USDC', text)).toMatchObject({ ok: false, fault: 'not_an_amount' });
  });

  it('lets trailing zeros pass that say nothing', () => {
    expect(amountFromText('USDC', '007.0')).toEqual({ ok: true, amount: amountOf('USDC', 7_000_000n) });
    expect(amountFromText('USDC', '.5')).toEqual({ ok: true, amount: amountOf('USDC', 500_000n) });
    expect(amountFromText('USDC', '.0')).toMatchObject({ fault: 'not_positive' });
    expect(amountFromText('USDC', '0.000')).toMatchObject({ fault: 'not_positive' });
    expect(amountFromText('USDC', '9'.repeat(400))).toMatchObject({ fault: 'too_large' });
    expect(amountFromText('USDC', '1.50000000')).toEqual({ ok: true, amount: amountOf('USDC', 1_500_000n) });
  });
});

describe('a JSON number out', () => {
  it('is refused rather than rounded', () => {
    expect(() => toJsonNumber(amountOf('ETH', 123_456_789_012_345_678n))).toThrow(RangeError);
    expect(toJsonNumber(amountOf('ETH', 5n * 10n ** 17n))).toBe(0.5);
  });

  it('spells exponents out', () => {
    expect(expandExponent('1e-7')).toBe('0.0000001');
    expect(expandExponent('1.25e+21')).toBe(`125${'0'.repeat(19)}`);
    expect(expandExponent('-1.234e-10')).toBe('-0.0000000001234');
    expect(expandExponent('1.2345e+2')).toBe('123.45');
  });
});

it('does not add what is not the same', () => {
  expect(() => add(amountOf('USDC', 1n), amountOf('EURC', 1n))).toThrow(TypeError);
  expect(subtract(amountOf('USDC', 5n), amountOf('USDC', 2n))).toEqual(amountOf('USDC', 3n));
});
