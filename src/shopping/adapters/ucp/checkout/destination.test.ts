import { describe, expect, it } from 'vitest';
import { missingOfAddress } from './destination.ts';

const missing = (path: string) =>
  missingOfAddress([{ type: 'error', code: 'missing', content: '', severity: '', path, isDisclosure: false }]);

describe('the part of an address that a shop points at', () => {
  it.each([
    ['$.fulfillment.methods[0].destinations[0].postal_code', ['postalCode']],
    ['/fulfillment/methods/0/destinations/0/street_address', ['street']],
    ['address_region', ['region']],
    ['$.postal_code[0]', []],
    ['$.line_items', []],
    ['', []],
  ])('is the last one of %s', (path, parts) => {
    expect(missing(path)).toEqual(parts);
  });

  it('is found in one pass, however long the shop makes it', () => {
    expect(missing(`${'a'.repeat(400_000)}!`)).toEqual([]);
  });
});
