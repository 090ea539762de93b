import { expect, test } from 'vitest';
import { startTestShop, useSearch } from '../../../support/merchant.ts';

const shop = await startTestShop();
const { find, findWhole } = useSearch(shop, { only: ['woocommerce'] });
const route = '/wp-json/wc/store/v1/products';

/** As the Store API answers it. */
function product(change: object = {}, prices: object = {}) {
  return {
    id: 34,
    name: 'WordPress &#8211; Pennant &amp; Flag',
    slug: 'pennant',
    type: 'simple',
    permalink: `${shop.origin}/product/pennant/`,
    prices: {
      price: '1105',
      regular_price: '1205',
      sale_price: '1105',
      price_range: null,
      currency_code: 'USD',
      currency_symbol: '$',
      currency_minor_unit: 2,
      currency_decimal_separator: '.',
      currency_thousand_separator: ',',
      currency_prefix: '$',
      currency_suffix: '',
      ...prices,
    },
    images: [{ id: 55, src: `${shop.origin}/pennant.jpg`, thumbnail: false, alt: '' }],
    brands: [{ id: 1, name: 'Flags &amp; Co' }],
    has_options: false,
    is_purchasable: true,
    is_in_stock: true,
    ...change,
  };
}

test('a product, as the shop writes its prices', async () => {
  shop.answers = { [route]: [product()] };
  expect(await find('pennant')).toEqual([
    {
      title: 'WordPress – Pennant & Flag',
      brand: 'Flags & Co',
      price: '$11.05',
      priceNum: 11.05,
      url: `${shop.origin}/product/pennant/`,
    },
  ]);
  const [whole] = await findWhole('pennant');
  expect(whole).toMatchObject({
    id: '34',
    variants: [],
    moreVariants: false,
    available: true,
    picture: { alt: 'WordPress – Pennant & Flag' },
  });
});

test.each([
  [
    {
      price: '123456',
      currency_code: 'EUR',
      currency_prefix: '',
      currency_suffix: ' €',
      currency_decimal_separator: ',',
      currency_thousand_separator: '.',
    },
    '1.234,56 €',
    1234.56,
  ],
  [{ price: '1980', currency_code: 'JPY', currency_prefix: '¥', currency_minor_unit: 0 }, '¥1,980', 1980],
  [
    {
      price: '1299',
      currency_code: 'NOK',
      currency_prefix: 'kr ',
      currency_minor_unit: 0,
      currency_thousand_separator: ' ',
    },
    'kr 1 299',
    1299,
  ],
  [{ price: '5', currency_code: 'USD' }, '$0.05', 0.05],
  [{ price: '123456', currency_minor_unit: 4 }, '$12.3456', 12.3456],
  [{ price: '2500', currency_prefix: '&#36;' }, '$25.00', 25],
])('prices by the settings of the shop: %j', async (prices, price, priceNum) => {
  shop.answers = { [route]: [product({}, prices)] };
  expect(await find('pennant')).toMatchObject([{ price, priceNum }]);
});

test('without a brand the shop has made it; what cannot be bought is left out', async () => {
  shop.answers = {
    '/': '<meta property="og:site_name" content="The Flag Shop">',
    [route]: [
      product({ brands: undefined, images: [] }),
      product({ id: 2, is_purchasable: false, permalink: '/2' }),
      product({ id: 3, permalink: '/3' }, { price: '' }),
    ],
  };
  expect(await find('pennant')).toMatchObject([{ brand: 'The Flag Shop' }]);
});

test('words that stand apart are asked for one by one', async () => {
  shop.answers = {
    [route]: ({ query }, response) => {
      const found = query.get('search') === 'flag' ? [product()] : [];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
    },
  };
  expect(await find('flag pennant')).toHaveLength(1);
  expect(
    shop.asked
      .map(({ query }) => query.get('search'))
      .filter(Boolean)
      .sort(),
  ).toEqual(['flag', 'flag pennant', 'pennant']);
});

test('plain addresses, and a root that only the front page knows', async () => {
  shop.answers = {
    '/': ({ query }, response) =>
      query.get('rest_route') === '/wc/store/v1/products'
        ? response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([product()]))
        : response.end('<p>Welcome</p>'),
  };
  expect(await find('pennant')).toHaveLength(1);
  shop.answers = {
    '/': (_asked, response) =>
      response
        .writeHead(200, {
          'content-type': 'text/html',
          link: `<${shop.origin}/blog/wp-json/>; rel="https://api.w.org/"`,
        })
        .end('<p>Welcome</p>'),
    '/blog/wp-json/wc/store/v1/products': [product()],
  };
  expect(await find('pennant')).toHaveLength(1);
  shop.answers = {
    '/': '<link rel="https://api.w.org/" href="/store/index.php?rest_route=/">',
    '/store/index.php': [product()],
  };
  expect(await find('pennant')).toHaveLength(1);
  shop.answers = { '/': '<link rel="https://api.w.org/" href="http://10.0.0.1/wp-json/">' };
  expect(await find('pennant')).toBe('422 merchant_unsupported');
});

test('a list that is none of products is no shop', async () => {
  shop.answers = { [route]: [{ id: 1, title: 'x' }] };
  expect(await find('pennant')).toBe('422 merchant_unsupported');
  shop.answers = { [route]: { code: 'rest_no_route', message: 'No route', data: { status: 404 } } };
  expect(await find('pennant')).toBe('422 merchant_unsupported');
});

test.each([
  ['a prefix with digits', { currency_prefix: '$9' }],
  ['a prefix that becomes a digit', { currency_prefix: '&#57;$' }],
  ['a suffix with digits of another script', { currency_suffix: '０ USD' }],
  ['no decimal separator', { currency_decimal_separator: '' }],
  ['a decimal separator with digits', { currency_decimal_separator: '0.' }],
  ['a group separator like the decimal one', { price: '110500', currency_thousand_separator: '.' }],
])('%s does not make the text another price than the number', async (_what, prices) => {
  shop.answers = { [route]: [product({}, prices)] };
  const [found] = (await find('pennant')) as { price: string; priceNum: number }[];
  expect([found?.price, found?.priceNum]).toEqual('price' in prices ? ['$1,105.00', 1105] : ['$11.05', 11.05]);
});

const variable = (more: object = {}) =>
  product({
    has_options: true,
    type: 'variable',
    attributes: [
      {
        id: 1,
        name: 'Size',
        taxonomy: 'pa_size',
        has_variations: true,
        terms: [{ id: 5, name: 'Large &amp; long', slug: 'l' }],
      },
    ],
    variations: [
      { id: 101, attributes: [{ name: 'Size', value: 'l' }] },
      { id: 102, attributes: [{ name: 'Size', value: 'XS' }] },
    ],
    ...more,
  });
const variation = (id: number, price: string, more: object = {}) =>
  product({ id, parent: 34, type: 'variation', ...more }, { price });

/** The search answers the product, and what is asked for its variations. */
function sells(parent: object, variations: readonly object[] | string) {
  shop.answers = {
    [route]: ({ query }, response) => {
      const answer = query.get('type') === 'variation' ? variations : [parent];
      const type = typeof answer === 'string' ? 'text/html' : 'application/json';
      response.writeHead(200, { 'content-type': type }).end(JSON.stringify(answer));
    },
  };
}

test('variants have the names of their choices, and prices of their own', async () => {
  sells(variable(), [variation(101, '1500'), variation(102, '1105', { is_in_stock: false })]);
  expect(await find('pennant')).toMatchObject([
    {
      price: '$11.05',
      variants: [
        { id: '101', title: 'Large & long', options: [{ name: 'Size', value: 'Large & long' }], price: '$15.00' },
        { id: '102', title: 'XS', price: '$11.05', available: false },
      ],
    },
  ]);
  const asked = shop.asked.find(({ query }) => query.get('type') === 'variation');
  expect(asked?.query.get('parent')).toBe('34');
});

test.each([
  [
    'one that is left open',
    { variations: [{ id: 101, attributes: [{ name: 'Size', value: null }] }] },
    [variation(101, '1500')],
  ],
  ['one that is not answered', {}, [variation(101, '1500')]],
  ['some choice that is no variation', { variations: [] }, []],
  ['those that cannot be asked for', {}, '<html>'],
])('variants that cannot be ordered are not named: %s', async (_what, parent, variations) => {
  sells(variable(parent), variations);
  const [found] = await findWhole('pennant');
  expect(found).toMatchObject({ id: '34', moreVariants: true });
  expect(found?.variants.map(({ id }) => id)).not.toContain('102');
});
