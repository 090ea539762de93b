import { describe, expect, it } from 'vitest';
import { readProducts } from './read-products.ts';

/** The same thing, referred to so many times. */
const refer = (id: string, times: number) => Array.from({ length: times }, () => ({ '@id': id }));

describe('the products of a page', () => {
  it('are read without reading one offer again for every reference to it', () => {
    let read = 0;
    const offer = {
      '@id': 'offer',
      '@type': 'Offer',
      priceCurrency: 'USD',
      get price() {
        read++;
        return '24.99';
      },
    };
    const products = readProducts([
      {
        '@graph': [
          offer,
          { '@id': 'all', offers: refer('offer', 50) },
          { '@id': 'variant', offers: refer('all', 50) },
          ...Array.from({ length: 2 }, () => ({
            '@type': 'ProductGroup',
            name: 'Mug',
            hasVariant: refer('variant', 2),
          })),
        ],
      },
    ]);
    expect(products[0]?.price?.text).toBe('$24.99');
    expect(read).toBeLessThan(5_000);
  });
});
