import { describe, expect, it } from 'vitest';
import { Problem } from '../../kernel/http/problem.ts';
import { priceFromText } from '../search/price.ts';
import type { Product, Variant } from '../search/product.ts';
import { chooseProduct, type OrderedProduct, type WantedProduct } from './choose-product.ts';

const priced = (text: string) => priceFromText(text, 'USD') as NonNullable<ReturnType<typeof priceFromText>>;

function variant(id: string, title: string, more: Partial<Variant> = {}): Variant {
  const values = title.split(' / ');
  const options = values.map((value, index) => ({ name: ['Size', 'Color'][index] ?? 'Option', value }));
  return { id, title, options, price: priced('30'), available: true, ...more };
}

function product(title: string, more: Partial<Product> = {}): Product {
  return {
    title,
    brand: 'Loom',
    price: priced('30'),
    url: `https://shop.example/p/${encodeURIComponent(title)}`,
    picture: undefined,
    id: title,
    available: true,
    variants: [],
    moreVariants: false,
    ...more,
  };
}

const shirt = product('Linen Shirt', {
  variants: [
    variant('v-s', 'S', { price: priced('30') }),
    variant('v-m', 'M', { price: priced('35') }),
    variant('v-l', 'L', { price: priced('39') }),
    variant('v-xl', 'XL', { available: false }),
  ],
});
const scarf = product('Wool Scarf', {
  variants: [variant('1', 'S / Red'), variant('2', 'S / Dark Red'), variant('3', 'L / Dark Red')],
});

/** The ordered product, or the error. */
function attempt(found: readonly Product[], wanted: Partial<WantedProduct>): OrderedProduct | Problem {
  try {
    return chooseProduct(found, { title: '', brand: undefined, url: undefined, variant: undefined, ...wanted });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The ordered id, or the error code. */
function choose(found: readonly Product[], wanted: string | Partial<WantedProduct>): string {
  const outcome = attempt(found, typeof wanted === 'string' ? { title: wanted } : wanted);
  return outcome instanceof Problem ? outcome.code : outcome.itemId;
}

describe('a product with variants', () => {
  it.each([
    ['by id', { variant: 'v-l' }, 'v-l'],
    ['by title', { variant: 'l' }, 'v-l'],
    ['by option', { variant: 'Size: L' }, 'v-l'],
    ['in the title', { title: 'Linen Shirt L' }, 'v-l'],
    ['in the title, in other words', { title: 'shirt, linen (M)' }, 'v-m'],
    ['by the address', { url: `${shirt.url}?variant=v-s` }, 'v-s'],
  ])('is ordered as the variant that is named %s', (_how, wanted, itemId) => {
    expect(choose([shirt], { title: 'Linen Shirt', ...wanted })).toBe(itemId);
  });

  it.each([
    ['none is named', {}],
    ['one that it does not have is named', { variant: 'XXL' }],
    ['title and variant say different things', { title: 'Linen Shirt L', variant: 'M' }],
    ['address and variant say different things', { url: `${shirt.url}?variant=v-s`, variant: 'M' }],
  ])('is not ordered when %s', (_why, wanted) => {
    expect(choose([shirt], { title: 'Linen Shirt', ...wanted })).toBe('product_ambiguous');
  });

  it('is refused with the ids, titles and prices of its variants', () => {
    expect(attempt([shirt], { title: 'Linen Shirt' })).toMatchObject({
      extras: {
        members: {
          variants: [
            { id: 'v-s', title: 'S', options: [{ name: 'Size', value: 'S' }], price: '$30.00', priceNum: 30 },
            { id: 'v-m', priceNum: 35 },
            { id: 'v-l', priceNum: 39 },
            { id: 'v-xl', available: false },
          ],
        },
      },
    });
  });

  it('has the price of the variant', () => {
    expect(attempt([shirt], { title: 'Linen Shirt', variant: 'L' })).toMatchObject({
      price: { text: '$39.00' },
      variant: { title: 'L', options: [{ name: 'Size', value: 'L' }] },
    });
  });

  it('is sold out when the variant is', () => {
    expect(choose([shirt], { title: 'Linen Shirt', variant: 'XL' })).toBe('sold_out');
  });

  it.each([
    ['L', 'product_ambiguous'],
    ['Red', 'product_ambiguous'],
    ['Dark Red', 'product_ambiguous'],
    ['S Dark', 'product_ambiguous'],
    ['dark red, L', '3'],
    ['Color: Red, Size: S', '1'],
    ['L / Red', 'product_ambiguous'],
  ])('takes whole choices, and all of them: %s', (asked, itemId) => {
    expect(choose([scarf], { title: 'Wool Scarf', variant: asked })).toBe(itemId);
  });

  describe('of which choices look alike', () => {
    const jeans = (...titles: readonly string[]) =>
      product('Jeans', {
        variants: titles.map((title) => {
          const [waist = '', length = ''] = title.split(' / ');
          return variant(title, title, {
            options: [
              { name: 'Waist', value: waist },
              { name: 'Length', value: length },
            ],
          });
        }),
      });

    it.each([
      ['34 / 32', 'product_ambiguous'],
      ['Waist: 34, Length: 32', 'product_ambiguous'],
      ['Length 34, Waist 32', '32 / 34'],
      ['32 34', '32 / 34'],
      ['Length: 34', '32 / 34'],
      ['34', '32 / 34'],
      ['34 x', 'product_ambiguous'],
      ['32', 'product_ambiguous'],
      ['Waist: 32', 'product_ambiguous'],
    ])('is not ordered as another one: %s', (asked, itemId) => {
      const shelf = [jeans('32 / 34', '32 / 32')];
      expect(choose(shelf, { title: 'Jeans', variant: asked })).toBe(itemId);
      const inTitle = choose(shelf, { title: `Jeans, ${asked}` });
      if (itemId === 'product_ambiguous') expect(inTitle).toMatch(/^product_(?:ambiguous|not_found)$/);
      else expect(inTitle).toBe(itemId);
    });

    it('is ordered by its exact title, whatever else is sold', () => {
      for (const title of ['32 / 34', '34 / 32']) {
        expect(choose([jeans('32 / 34', '34 / 32')], { title: 'Jeans', variant: title })).toBe(title);
      }
    });

    it('keeps the sign of a number', () => {
      const lens = product('Lens', { variants: [variant('a', '+1.50'), variant('b', '+2.00')] });
      expect(choose([lens], { title: 'Lens', variant: '-1.50' })).toBe('product_ambiguous');
      expect(choose([lens], { title: 'Lens +2.00' })).toBe('b');
      const both = product('Lens', { variants: [variant('a', '+1.50'), variant('b', '-1.50')] });
      expect(choose([both], { title: 'Lens', variant: '−1.50' })).toBe('b');
    });

    it('is not chosen when a word is the id of one and the title of another', () => {
      const shoe = product('Shoe', { variants: [variant('42', '38'), variant('43', '42')] });
      expect(choose([shoe], { title: 'Shoe', variant: '42' })).toBe('product_ambiguous');
      expect(choose([shoe], { title: 'Shoe', variant: '43' })).toBe('43');
    });
  });

  it('leaves out a choice with one value only where the shop has named all variants', () => {
    const more = { ...scarf, moreVariants: true };
    const blue = { ...scarf, variants: scarf.variants.filter(({ title }) => title.endsWith('Dark Red')) };
    expect(choose([blue], { title: 'Wool Scarf', variant: 'L' })).toBe('3');
    expect(choose([{ ...blue, moreVariants: true }], { title: 'Wool Scarf', variant: 'L' })).toBe('product_ambiguous');
    expect(choose([more], { title: 'Wool Scarf', variant: 'L / Dark Red' })).toBe('3');
    expect(choose([more], { title: 'Wool Scarf', variant: '3' })).toBe('3');
  });

  it('is not ordered where the shop names none of them', () => {
    expect(choose([product('Hat', { moreVariants: true })], 'Hat')).toBe('product_ambiguous');
  });
});

describe('a product that is sold in one form', () => {
  it('is ordered by its one variant, or by its own id', () => {
    expect(choose([product('Hat', { variants: [variant('h-1', 'Default Title', { options: [] })] })], 'Hat')).toBe(
      'h-1',
    );
    expect(choose([product('Hat', { id: 'h' })], 'Hat')).toBe('h');
  });

  it('is not ordered at an address that names another variant', () => {
    const hat = product('Hat', { url: 'https://s.example/hat?variant=1', variants: [variant('g/1', 'L')] });
    expect(choose([hat], { title: 'Hat', url: 'https://s.example/hat?variant=2' })).toBe('product_not_found');
    expect(choose([hat], { title: 'Hat', url: 'https://s.example/hat?variant=1' })).toBe('g/1');
    const two = { ...hat, variants: [...hat.variants, variant('g/2', 'S')] };
    expect(choose([two], { title: 'Hat', url: 'https://s.example/hat?variant=1', variant: 'S' })).toBe('g/2');
    expect(choose([two], { title: 'Hat', url: 'https://s.example/hat?variant=1' })).toBe('product_ambiguous');
  });

  it('is not ordered as a variant that it does not have', () => {
    expect(choose([product('Hat')], { title: 'Hat', variant: 'L' })).toBe('product_not_found');
    expect(choose([product('Hat', { variants: [variant('h-1', 'L')] })], { title: 'Hat', variant: 'S' })).toBe(
      'product_not_found',
    );
    expect(choose([product('Hat', { variants: [variant('h-1', 'L')] })], { title: 'Hat', variant: 'L' })).toBe('h-1');
  });
});

describe('a title', () => {
  const shelf = [product('Stoneware Mug, Sea'), product('Stoneware Mug, Clay'), product('Café Cup (2-Pack)')];

  it.each([
    ['Stoneware Mug, Sea', 'Stoneware Mug, Sea'],
    ['stoneware mug – sea', 'Stoneware Mug, Sea'],
    ['Sea stoneware mug', 'Stoneware Mug, Sea'],
    ['cafe cup 2 pack', 'Café Cup (2-Pack)'],
    ['Stoneware Mug', 'product_not_found'],
    ['Stoneware Mug, Sea, large', 'product_not_found'],
    ['!!!', 'product_not_found'],
  ])('is read without case, punctuation and order: %s', (title, itemId) => {
    expect(choose(shelf, title)).toBe(itemId);
  });

  it.each([
    ['Speaker 5.1', 'Speaker 1.5'],
    ['C# Mug', 'C++ Mug'],
    ['Bolt 10x50', 'Bolt 50x10'],
    ['Phone 15', 'Phone 15+'],
    ['Lens 1/2', 'Lens 2/1'],
    ['🍎', '🍐'],
    ['Sticker 🐱', 'Sticker 🐶'],
    ['Watch ♀', 'Watch ♂'],
    ['$50 Gift Card', '€50 Gift Card'],
    ['÷ (Deluxe)', '× (Deluxe)'],
    ['パス タオル', 'バス タオル'],
    ['दाल', 'दिल'],
    ['ข้าว', 'ขาว'],
    ['½ kg Tea', '2 1 kg Tea'],
    ['Lens -1.50', 'Lens +1.50'],
    ['Frame 30 x 20', 'Frame 20 x 30'],
    ['Dune Volume 2 Book 1', 'Dune Volume 1 Book 2'],
  ])('keeps signs that make a difference: %s is not %s', (wanted, offered) => {
    expect(choose([product(offered)], wanted)).toBe('product_not_found');
    expect(choose([product(offered)], offered.toLowerCase())).toBe(offered);
  });

  it('that is there to the letter comes before one with the same words', () => {
    expect(choose([product('Mug Sea'), product('Sea Mug')], 'sea mug')).toBe('Sea Mug');
    expect(choose([product('Mug Sea'), product('Sea Mug')], 'sea, mug')).toBe('product_ambiguous');
  });

  it('is not the name of a variant alone', () => {
    const set = product('Gift Set', { variants: [variant('a', 'Blue Mug'), variant('b', 'Red Mug')] });
    expect(choose([set], 'Blue Mug')).toBe('product_not_found');
    const whole = product('Lamp', { variants: [variant('a', 'Lamp, brass'), variant('b', 'Lamp, black')] });
    expect(choose([whole], 'lamp brass')).toBe('a');
  });

  it('of two products that share an id fits both', () => {
    const [blue, gold] = ['blue', 'gold'].map((at) => product('Mug', { id: 'm', url: `https://s.example/${at}` }));
    expect(choose([blue as Product, gold as Product], 'Mug')).toBe('product_ambiguous');
    expect(choose([blue as Product, blue as Product], 'Mug')).toBe('m');
  });

  it('is compared although it and the shelf are as long as can be', () => {
    const values = Array.from({ length: 10 }, (_, index) => ({
      name: `n${index} `.repeat(20),
      value: 'a '.repeat(40),
    }));
    const variants = Array.from({ length: 100 }, (_, index) =>
      variant(`v${index}`, 'x '.repeat(100), { options: values }),
    );
    const shelf = Array.from({ length: 24 }, (_, index) => product('a', { id: `p${index}`, variants }));
    expect(choose(shelf, { title: `a ${'\ufdfa'.repeat(500)}` })).toBe('product_not_found');
    expect(choose(shelf, { title: 'a '.repeat(250) })).toBe('product_not_found');
  });

  it('of several products needs the address of one', () => {
    const two = [
      product('Hat', { id: 'a', url: 'https://s.example/a' }),
      product('Hat', { id: 'b', url: 'https://s.example/b' }),
    ];
    expect(choose(two, 'Hat')).toBe('product_ambiguous');
    expect(choose(two, { title: 'Hat', url: 'https://s.example/b' })).toBe('b');
  });

  it('that fits nothing is refused with what is closest', () => {
    expect(attempt(shelf, { title: 'Stoneware Mug' })).toMatchObject({
      extras: { members: { closest: [{ title: 'Stoneware Mug, Sea' }, { title: 'Stoneware Mug, Clay' }, {}] } },
    });
  });
});
