import { describe, expect, it } from 'vitest';
import { readProducts } from './read-products.ts';

/** One node, referenced this many times. */
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

const usd = (price: number, more: object = {}) => ({ '@type': 'Offer', price, priceCurrency: 'USD', ...more });
const eur = (price: number, more: object = {}) => usd(price, { priceCurrency: 'EUR', ...more });
const range = (more: object) => ({ '@type': 'AggregateOffer', lowPrice: 30, priceCurrency: 'USD', ...more });
const shirt = (offers: unknown, more: object = {}) =>
  readProducts([{ '@type': 'Product', name: 'Shirt', sku: 'SHIRT', offers, ...more }])[0];

describe('a product is sold in forms that the page does not name', () => {
  it.each([
    ['offers of different names', ['S', 'M', 'L'].map((name) => usd(30, { name }))],
    ['offers of different names and one article', ['S', 'L'].map((name) => usd(30, { name, sku: 'SHIRT' }))],
    ['offers of things of different sizes', ['S', 'L'].map((size) => usd(30, { sku: 'A', itemOffered: { size } }))],
    ['offers of different colours', ['red', 'blue'].map((color) => usd(30, { sku: 'A', color }))],
    ['several offers of one price', [usd(30), usd(30)]],
    ['an offer with an article number and one without', [usd(30, { sku: 'A' }), usd(30)]],
    ['offers of different names, one for each currency', [usd(30, { name: 'S' }), eur(28, { name: 'L' })]],
    ['an aggregate of three', range({ highPrice: 30, offerCount: 3 })],
    ['an aggregate of three, as text', range({ highPrice: 30, offerCount: '3' })],
    ['an aggregate of more than it lists', range({ offerCount: 3, offers: [usd(30)] })],
    ['a lowest price alone', range({})],
  ])('if it has %s', (_what, offers) => {
    expect(shirt(offers)).toMatchObject({ variants: [], moreVariants: true });
  });

  it('if an article goes by several names', () => {
    const offers = [
      usd(30, { sku: 'A', name: 'S' }),
      usd(30, { sku: 'A', name: 'M' }),
      usd(30, { sku: 'B', name: 'L' }),
    ];
    expect(shirt(offers)).toMatchObject({ variants: [{ id: 'B' }], moreVariants: true });
  });

  it.each([
    ['one offer', usd(30)],
    ['one offer, twice by its id', refer('offer', 2)],
    ['an offer in each of two currencies', [usd(30), eur(28)]],
    ['an aggregate of one', range({ offerCount: 1 })],
    ['an aggregate of both currencies', range({ offerCount: 2, offers: [usd(30), eur(28)] })],
  ])('and not if it has %s', (_what, offers) => {
    const [product] = readProducts([
      {
        '@graph': [
          { '@id': 'offer', ...usd(30) },
          { '@type': 'Product', name: 'Shirt', sku: 'SHIRT', offers },
        ],
      },
    ]);
    expect(product).toMatchObject({ variants: [{ id: 'SHIRT', price: { text: '$30.00' } }], moreVariants: false });
  });
});

describe('of several currencies the first counts', () => {
  it('for a product and for its only form', () => {
    const price = { text: '$33.00' };
    const product = shirt([usd(33, { sku: 'A' }), eur(30, { sku: 'A' })]);
    expect(product).toMatchObject({ price, variants: [{ id: 'A', price }] });
  });

  it('and its lowest price, in stock', () => {
    const offers = [usd(40, { sku: 'A' }), eur(30, { sku: 'A' }), usd(35, { sku: 'B' }), eur(20, { sku: 'B' })];
    expect(shirt([...offers, usd(10, { sku: 'A', availability: 'SoldOut' })])).toMatchObject({
      price: { text: '$35.00' },
      variants: [
        { id: 'A', price: { text: '$40.00' } },
        { id: 'B', price: { text: '$35.00' } },
      ],
    });
  });

  it('for each variant that is sold in it', () => {
    const variants = [
      { name: 'S', sku: 'S', offers: [usd(33), eur(30)] },
      { name: 'M', sku: 'M', offers: [eur(30), usd(33)] },
      { name: 'L', sku: 'L', offers: eur(30) },
    ];
    expect(shirt([], { hasVariant: variants })).toMatchObject({
      price: { text: '$33.00' },
      variants: [{ price: { text: '$33.00' } }, { price: { text: '$33.00' } }, { price: { text: '€30.00' } }],
      moreVariants: false,
    });
  });
});
