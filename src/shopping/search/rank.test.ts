import { describe, expect, it } from 'vitest';
import { priceFromMinor } from './price.ts';
import type { Product } from './product.ts';
import { matchProduct, rankProducts } from './rank.ts';

const product = (title: string, more: Partial<Product> = {}): Product => {
  const price = priceFromMinor(100, 'USD');
  if (price === undefined) throw new Error('no price');
  return {
    title,
    brand: 'Shop',
    price,
    url: 'https://shop.example/',
    picture: undefined,
    id: undefined,
    variants: [],
    moreVariants: false,
    available: undefined,
    ...more,
  };
};
const ranked = (query: string, titles: readonly string[]) =>
  rankProducts(
    query,
    titles.map((title) => product(title)),
  ).map(({ title }) => title);

describe('the order of products', () => {
  it.each([
    [
      'mug',
      ['Teapot', 'Smuggler print', 'Mug tree', 'Mugs, set of two', 'Mug'],
      ['Mug', 'Mug tree', 'Mugs, set of two', 'Smuggler print', 'Teapot'],
    ],
    [
      'blue mug',
      ['Red mug', 'Blue cup', 'Mug in blue', 'Blue mug'],
      ['Blue mug', 'Mug in blue', 'Red mug', 'Blue cup'],
    ],
    ['mugs', ['Bowl', 'Stoneware mug'], ['Stoneware mug', 'Bowl']],
    ['cafe', ['Tea', 'Café press'], ['Café press', 'Tea']],
    ['茶碗', ['お皿', '抹茶碗'], ['抹茶碗', 'お皿']],
    ['', ['b', 'a'], ['b', 'a']],
  ])('%s', (query, titles, expected) => {
    expect(ranked(query, titles)).toEqual(expected);
  });

  it('knows the brand, and puts last what is sold out', () => {
    expect(matchProduct('acme mug', product('Mug', { brand: 'Acme' })).whole).toBe(true);
    expect(matchProduct('acme mug', product('Mug')).whole).toBe(false);
    const [first] = rankProducts('mug', [product('Mug', { available: false, url: '1' }), product('Mug', { url: '2' })]);
    expect(first?.url).toBe('2');
  });
});
