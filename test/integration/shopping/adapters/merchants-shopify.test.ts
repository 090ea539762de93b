import { expect, test } from 'vitest';
import { startTestShop, useSearch } from '../../../support/merchant.ts';

const shop = await startTestShop();
const { find, findWhole } = useSearch(shop, { only: ['shopify'] });

/** As a storefront answers it. */
const tote = {
  available: true,
  body: '<p>Carries <b>everything</b>.</p>',
  compare_at_price_max: '0.00',
  compare_at_price_min: '0.00',
  handle: 'canvas-tote',
  id: 6_789_012_345_678,
  image: 'https://cdn.shopify.com/s/files/1/0001/tote.jpg?v=1',
  price: '24.99',
  price_max: '29.99',
  price_min: '24.99',
  tags: ['bag'],
  title: 'Canvas Tote',
  type: 'Bags',
  url: '/products/canvas-tote?_pos=1&_psq=tote&_ss=e&_v=1.0',
  variants: [],
  vendor: 'Fieldhand',
  featured_image: {
    alt: 'A bag',
    aspect_ratio: 1,
    height: 900,
    url: '//cdn.shopify.com/s/files/1/0001/tote.jpg?v=1',
    width: 900,
  },
};
const suggest = (products: unknown) => ({ resources: { results: { products } } });

test('a product, with the currency of the cart', async () => {
  shop.answers = { '/search/suggest.json': suggest([tote]), '/cart.js': { token: 'x', currency: 'CAD' } };
  expect(await find('tote')).toEqual([
    {
      title: 'Canvas Tote',
      brand: 'Fieldhand',
      price: 'CA$24.99',
      priceNum: 24.99,
      url: `${shop.origin}/products/canvas-tote`,
      moreVariants: true,
    },
  ]);
  expect(Object.fromEntries(shop.asked.find(({ path }) => path === '/search/suggest.json')?.query ?? [])).toEqual({
    q: 'tote',
    'resources[type]': 'product',
    'resources[limit]': '10',
    'resources[options][unavailable_products]': 'last',
  });
  const [whole] = await findWhole('tote');
  expect(whole).toMatchObject({ id: '6789012345678', available: true, picture: { alt: 'A bag' } });
});

test('without a cart the page of a product knows the currency', async () => {
  const page =
    '<script type="application/ld+json">{"@type":"Product","name":"Canvas Tote","offers":{"price":"24.99","priceCurrency":"KWD"}}</script>';
  shop.answers = { '/search/suggest.json': suggest([{ ...tote, price: '24.990' }]), '/products/canvas-tote': page };
  expect(await find('tote')).toMatchObject([{ price: 'KWD 24.990', priceNum: 24.99 }]);
  shop.answers = {
    '/search/suggest.json': suggest([tote]),
    '/products/canvas-tote': '<meta property="og:price:currency" content="GBP">',
  };
  expect(await find('tote')).toMatchObject([{ price: '£24.99' }]);
});

test('without any currency the price stands alone', async () => {
  shop.answers = { '/search/suggest.json': suggest([{ ...tote, featured_image: null, image: null }]) };
  expect(await find('tote')).toMatchObject([{ price: '24.99', priceNum: 24.99 }]);
});

test('nothing found is an empty list', async () => {
  shop.answers = { '/search/suggest.json': suggest([]) };
  expect(await find('tote')).toEqual([]);
});

test.each([
  ['a page', '<html></html>', '422 merchant_unsupported'],
  ['other JSON', { resources: {} }, '422 merchant_unsupported'],
  ['products that are none', suggest({ title: 'x' }), '422 merchant_unsupported'],
])('a site that answers with %s is no Shopify shop', async (_what, body, outcome) => {
  shop.answers = { '/search/suggest.json': body };
  expect(await find('tote')).toBe(outcome);
});

test.each([
  [417, '422 merchant_unsupported'],
  [422, '422 merchant_unsupported'],
  [429, '502 merchant_unreachable'],
  [430, '422 merchant_unsupported'],
  [403, '422 merchant_unsupported'],
  [401, '422 merchant_unsupported'],
  [503, '502 merchant_unreachable'],
])('status %i is not tried to get around', async (status, outcome) => {
  shop.answers = {
    '/search/suggest.json': (_asked, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
  };
  expect(await find('tote')).toBe(outcome);
  expect(shop.asked.filter(({ path }) => path === '/search/suggest.json')).toHaveLength(1);
});

test('a shop behind a password is not offered', async () => {
  shop.answers = {
    '/search/suggest.json': (_asked, response) => response.writeHead(302, { location: '/password' }).end(),
    '/password': '<form method="post"></form>',
  };
  expect(await find('tote')).toBe('422 merchant_unsupported');
});

test('a product without a vendor has the name of the shop there', async () => {
  shop.answers = {
    '/': '<meta property="og:site_name" content="Field &amp; Hand">',
    '/search/suggest.json': suggest([{ ...tote, vendor: '' }]),
    '/cart.js': { currency: 'USD' },
  };
  expect(await find('tote')).toMatchObject([{ brand: 'Field & Hand' }]);
});

const document = (more: object = {}) => ({
  id: tote.id,
  title: 'Canvas Tote',
  options: [
    { name: 'Size', position: 1 },
    { name: 'Color', position: 2 },
  ],
  variants: [
    { id: 41, title: 'Large / Blue', options: ['Large', 'Blue'], price: 2999, available: false },
    { id: 42, title: 'Small / Blue', options: ['Small', 'Blue'], price: 2499, available: true },
  ],
  ...more,
});

test('variants come from the document of the product', async () => {
  shop.answers = {
    '/search/suggest.json': suggest([tote]),
    '/cart.js': { currency: 'USD' },
    '/products/canvas-tote.js': document(),
  };
  expect(await find('tote')).toMatchObject([
    {
      price: '$24.99',
      variants: [
        {
          id: '41',
          title: 'Large / Blue',
          options: [
            { name: 'Size', value: 'Large' },
            { name: 'Color', value: 'Blue' },
          ],
          price: '$29.99',
          priceNum: 29.99,
          available: false,
        },
        { id: '42', title: 'Small / Blue', priceNum: 24.99, available: true },
      ],
    },
  ]);
});

test('a product without choices has one variant, and none is shown', async () => {
  const variants = [{ id: 43, title: 'Default Title', options: ['Default Title'], price: 2499, available: true }];
  shop.answers = {
    '/search/suggest.json': suggest([tote]),
    '/cart.js': { currency: 'USD' },
    '/products/canvas-tote.js': document({ variants }),
  };
  expect(await find('tote')).toEqual([
    {
      title: 'Canvas Tote',
      brand: 'Fieldhand',
      price: '$24.99',
      priceNum: 24.99,
      url: `${shop.origin}/products/canvas-tote`,
    },
  ]);
  expect(await findWhole('tote')).toMatchObject([{ variants: [{ id: '43', options: [] }], moreVariants: false }]);
});

test.each([
  ['yen in hundredths', '1980', 'JPY', 198_000, '¥1,980'],
  ['yen in whole', '1980', 'JPY', 1_980, '¥1,980'],
  ['dinars in thousandths', '24.990', 'KWD', 24_990, 'KWD 24.990'],
])('prices of variants have the scale of the search: %s', async (_what, price, currency, minor, text) => {
  shop.answers = {
    '/search/suggest.json': suggest([{ ...tote, price }]),
    '/cart.js': { currency },
    '/products/canvas-tote.js': document({
      variants: [
        { id: 1, title: 'S', price: minor },
        { id: 2, title: 'L', price: minor * 2 },
      ],
    }),
  };
  expect(await find('tote')).toMatchObject([{ variants: [{ price: text }, {}] }]);
});

test.each([
  ['another product', document({ id: 1 })],
  ['prices that fit no scale', document({ variants: [{ id: 42, title: 'S', price: 1234 }] })],
  ['no variants', document({ variants: [] })],
  ['a page', '<html></html>'],
])('a document with %s names no variants', async (_what, body) => {
  shop.answers = {
    '/search/suggest.json': suggest([tote]),
    '/cart.js': { currency: 'USD' },
    '/products/canvas-tote.js': body,
  };
  expect(await findWhole('tote')).toMatchObject([{ title: 'Canvas Tote', variants: [], moreVariants: true }]);
});
