import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priceFromMinor, priceFromText } from './price.ts';
import { priceNumber } from './product.ts';

const read = (value: unknown, currency?: string) => {
  const price = priceFromText(value, currency);
  return price && [price.text, priceNumber(price), price.currency];
};

describe('a price as a merchant writes it', () => {
  it.each([
    ['1.234,56 €', undefined, ['1.234,56 €', 1234.56, 'EUR']],
    ['¥1,980', undefined, ['¥1,980', 1980, 'JPY']],
    ['kr 1 299,-', undefined, ['kr 1 299,-', 1299, undefined]],
    ['kr 1\u00a0299,-', 'NOK', ['kr 1 299,-', 1299, 'NOK']],
    ['$1495', 'USD', ['$1495', 1495, 'USD']],
    ['$1,495.00', 'USD', ['$1,495.00', 1495, 'USD']],
    ["CHF 1'299.50", undefined, ["CHF 1'299.50", 1299.5, 'CHF']],
    ['₹1,29,999', undefined, ['₹1,29,999', 129_999, 'INR']],
    ['1.299 €', undefined, ['1.299 €', 1299, 'EUR']],
    ['12,5 zł', undefined, ['12,5 zł', 12.5, 'PLN']],
    ['12.000.000 ₫', undefined, ['12.000.000 ₫', 12_000_000, 'VND']],
    ['1.500 KWD', undefined, ['1.500 KWD', 1.5, 'KWD']],
    ['1.299.00 €', undefined, ['1.299.00 €', 1299, 'EUR']],
    ['$.99', 'USD', ['$.99', 0.99, 'USD']],
    ['Rs.99', 'INR', ['Rs.99', 99, 'INR']],
    ['９$24.99', 'USD', ['$24.99', 24.99, 'USD']],
    ['$24.99²', 'USD', ['$24.99', 24.99, 'USD']],
    ['$24.99&sup2;', 'USD', ['$24.99', 24.99, 'USD']],
    ['From $19.99', 'USD', ['From $19.99', 19.99, 'USD']],
    ['$10.00 - $20.00', 'USD', ['$10.00', 10, 'USD']],
  ] as const)('%s', (value, currency, expected) => {
    expect(read(value, currency)).toEqual(expected);
  });

  it.each([
    [1838.0, 'USD', ['$1,838.00', 1838, 'USD']],
    ['230.0', 'USD', ['$230.00', 230, 'USD']],
    ['24.99', 'USD', ['$24.99', 24.99, 'USD']],
    ['1.234,56', 'EUR', ['€1,234.56', 1234.56, 'EUR']],
    ['1.299', 'EUR', ['€1,299.00', 1299, 'EUR']],
    ['0.125', 'USD', ['$0.125', 0.125, 'USD']],
    ['1980', 'JPY', ['¥1,980', 1980, 'JPY']],
    ['4.250', 'KWD', ['KWD 4.250', 4.25, 'KWD']],
    ['1299', 'SEK', ['SEK 1,299.00', 1299, 'SEK']],
    ['1,299,00', 'USD', ['$1,299.00', 1299, 'USD']],
    ['.99', 'USD', ['$0.99', 0.99, 'USD']],
    [',5', 'EUR', ['€0.50', 0.5, 'EUR']],
    [1.2340000000000002, 'KWD', ['KWD 1.234', 1.234, 'KWD']],
    [19.990000000000002, 'USD', ['$19.99', 19.99, 'USD']],
    ['24.99', undefined, ['24.99', 24.99, undefined]],
    [1e21, 'USD', undefined],
  ] as const)('%s in %s, written as usual', (value, currency, expected) => {
    expect(read(value, currency)).toEqual(expected);
  });

  it.each([
    '',
    'on request',
    '0',
    0,
    '0.00',
    null,
    {},
    Number.NaN,
    '9'.repeat(40),
    'x'.repeat(10_000),
    '-',
    '-5.00',
    '-$5',
    '$-5',
    '−5 €',
  ])('is none: %j', (value) => {
    expect(read(value, 'USD')).toBeUndefined();
  });

  it('is read in time that grows with its length alone, and never breaks', () => {
    const hostile = fc.oneof(fc.string(), fc.stringMatching(/^[\d.,'’ $€-]{0,80}$/), fc.double());
    fc.assert(
      fc.property(hostile, (value) => {
        const price = priceFromText(value, 'USD');
        if (price !== undefined) expect(priceNumber(price)).toBeGreaterThan(0);
      }),
    );
    for (const piece of ['1 ', '1.', '1,', "1'", '1 1']) expect(() => read(piece.repeat(100))).not.toThrow();
  });
});

describe('a price in minor units', () => {
  it.each([
    [2499, 'USD', undefined, ['$24.99', 24.99]],
    ['2499', 'USD', undefined, ['$24.99', 24.99]],
    [1980, 'JPY', undefined, ['¥1,980', 1980]],
    [4250, 'KWD', undefined, ['KWD 4.250', 4.25]],
    [1_299_000, 'HUF', undefined, ['HUF 12,990', 12_990]],
    [15_000_000, 'IDR', undefined, ['IDR 150,000', 150_000]],
    [1_500_050, 'PKR', undefined, ['PKR 15,000.50', 15_000.5]],
    [12_500_000, 'IQD', undefined, ['IQD 12,500', 12_500]],
    [12_990, 'CLP', undefined, ['CLP 12,990', 12_990]],
    ['129900', 'SEK', 2, ['SEK 1,299.00', 1299]],
    ['1299', 'EUR', 0, ['€1,299.00', 1299]],
  ] as const)('%s %s', (minor, currency, decimals, expected) => {
    const price = priceFromMinor(minor, currency, decimals);
    expect(price && [price.text, priceNumber(price)]).toEqual(expected);
  });

  it.each([-1, 1.5, '1.5', '', '-3', null, 2 ** 60, '9'.repeat(30)])('is none: %j', (minor) => {
    expect(priceFromMinor(minor, 'USD')).toBeUndefined();
  });
});
