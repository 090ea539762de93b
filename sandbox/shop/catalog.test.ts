import { describe, expect, it } from 'vitest';
import { catalog, findInCatalog } from './catalog.ts';

const find = (query: string) => findInCatalog(catalog, query).map(({ title }) => title);

describe('the catalog of the demo shop', () => {
  it.each([
    '',
    '!!!',
    'xyz',
    'the',
    'zzz of',
    'a',
    'a spaceship',
    'for the with',
    'constructor',
    'spaceship of mugs from mars',
  ])('has nothing for "%s"', (query) => {
    expect(find(query)).toEqual([]);
  });

  it.each([
    ['mug', 'Stoneware Mug'],
    ['mugs', 'Stoneware Mug'],
    ['a mug for the sea', 'Stoneware Mug, Sea'],
    ['blue mug', 'Stoneware Mug'],
    ['Stoneware Mug, Sea', 'Stoneware Mug, Sea'],
    ['STONEWARE MUG CLAY', 'Stoneware Mug, Clay'],
    ['linen shirt L', 'Linen Shirt'],
    ['kitchen', ''],
    ['alder pottery', 'Stoneware Mug'],
    ['dishwasher', 'Stoneware Mug, Sea'],
  ])('has something for "%s"', (query, title) => {
    expect(find(query)[0]).toContain(title);
  });

  it.each(catalog)('finds $title by its title, first of all', ({ title, maker }) => {
    expect(find(title)[0]).toBe(title);
    expect(find(`${title} ${maker}`)[0]).toBe(title);
  });
});
