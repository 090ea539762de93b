import { describe, expect, test } from 'vitest';
import { readJsonLd } from '../../../../src/shopping/adapters/reading/json-ld/read-json-ld.ts';
import { startTestShop, useSearch } from '../../../support/merchant.ts';

const shop = await startTestShop();
const { find, findWhole } = useSearch(shop, { only: ['json-ld'] });

const ld = (...documents: readonly unknown[]) =>
  documents
    .map((one) => `<script type="application/ld+json">${typeof one === 'string' ? one : JSON.stringify(one)}</script>`)
    .join('');
const lamp = {
  '@context': 'https://schema.org/',
  '@type': 'Product',
  name: 'Desk Lamp',
  brand: { '@type': 'Brand', name: 'Lumen' },
  image: ['/lamp.jpg'],
  sku: 4711,
  offers: {
    '@type': 'Offer',
    price: '89.00',
    priceCurrency: 'USD',
    availability: 'https://schema.org/InStock',
    url: '/p/desk-lamp',
  },
};
const found = (price = '$89.00', priceNum = 89) => ({
  title: 'Desk Lamp',
  brand: 'Lumen',
  price,
  priceNum,
  url: `${shop.origin}/p/desk-lamp`,
});
const site = (potentialAction: unknown) => ({
  '@context': 'https://schema.org',
  '@type': 'WebSite',
  name: 'Lights',
  potentialAction,
});
const entry = (path = '/find?q={search_term_string}') => ({
  '@type': 'SearchAction',
  target: { '@type': 'EntryPoint', urlTemplate: `${shop.origin}${path}` },
  'query-input': 'required name=search_term_string',
});
const results = '<main><a href="/p/desk-lamp">Desk lamp, brass</a><a href="/cart">Cart with lamps</a></main>';

describe('the search page', () => {
  test.each([
    ['an entry point', (_: string) => site(entry())],
    ['a text', (origin: string) => site({ '@type': 'SearchAction', target: `${origin}/find?q={query}` })],
    [
      'a list',
      (origin: string) =>
        site([{ '@type': ['SearchAction'], target: ['android-app://x/{q}', `${origin}/find?q={q}`] }]),
    ],
    [
      'a placeholder that was lost',
      (origin: string) => site({ '@type': 'schema:SearchAction', target: `${origin}/find?q=` }),
    ],
    [
      'a graph',
      (_: string) => ({ '@context': 'https://schema.org', '@graph': [{ '@type': 'Organization' }, site(entry())] }),
    ],
    [
      'a relative address',
      (_: string) => site({ '@type': 'http://schema.org/SearchAction', target: '/find?q={search_term_string}' }),
    ],
  ])('is declared as %s', async (_how, declare) => {
    shop.answers = { '/': ld(declare(shop.origin)), '/find': results, '/p/desk-lamp': ld(lamp) };
    expect(await find('desk lamp')).toEqual([found()]);
    expect(shop.asked.find(({ path }) => path === '/find')?.query.get('q')).toBe('desk lamp');
  });

  test('is that of a form, or the usual one', async () => {
    const form =
      '<form role="search" action="/suche"><input type="hidden" name="lang"><input type="search" name="query"></form>';
    shop.answers = { '/': form, '/suche': results, '/p/desk-lamp': ld(lamp) };
    expect(await find('desk lamp')).toEqual([found()]);
    shop.answers = { '/': '<p>Hello</p>', '/search': results, '/p/desk-lamp': ld(lamp) };
    expect(await find('desk lamp')).toEqual([found()]);
  });

  test('of somebody else, or of another scheme, is not asked', async () => {
    for (const target of [
      'https://evil.example/?q={q}',
      'http://10.0.0.1/?q={q}',
      'javascript:alert({q})',
      'file:///etc/{q}',
    ]) {
      shop.answers = { '/': ld(site({ '@type': 'SearchAction', target })) };
      expect(await find('lamp')).toBe('422 merchant_unsupported');
    }
  });

  test('may have the products itself', async () => {
    const list = {
      '@type': 'ItemList',
      itemListElement: [{ '@type': 'ListItem', item: { ...lamp, url: '/p/desk-lamp' } }],
    };
    shop.answers = { '/': ld(site(entry())), '/find': ld(list) };
    expect(await find('lamp')).toEqual([found()]);
    expect(shop.asked.map(({ path }) => path)).not.toContain('/p/desk-lamp');
  });

  test('may list addresses alone, of which those elsewhere are not opened', async () => {
    const list = {
      '@type': 'ItemList',
      itemListElement: [
        { '@type': 'ListItem', position: 1, url: 'https://evil.example/p/1' },
        { '@type': 'ListItem', position: 2, item: `${shop.origin}/p/desk-lamp` },
        { '@type': 'ListItem', position: 3, item: { '@id': '/p/missing' } },
      ],
    };
    shop.answers = { '/': ld(site(entry())), '/find': ld(list), '/p/desk-lamp': ld(lamp) };
    expect(await find('lamp')).toEqual([found()]);
  });

  test('that the site declares and that finds nothing is an empty list', async () => {
    shop.answers = { '/': ld(site(entry())), '/find': '<p>No results. <a href="/sale">Sale</a></p>' };
    expect(await find('lamp')).toEqual([]);
  });

  test('without products anywhere is no shop', async () => {
    shop.answers = { '/': ld(site(entry())), '/find': results, '/p/desk-lamp': '<p>An article about a lamp</p>' };
    expect(await find('lamp')).toBe('422 merchant_unsupported');
  });
});

describe('a product', () => {
  const read = async (product: unknown, head = '') => {
    shop.answers = {
      '/': ld(site(entry())),
      '/find': results,
      '/p/desk-lamp': `${head}${typeof product === 'string' ? product : ld(product)}`,
    };
    return find('desk lamp');
  };
  const offering = (offers: unknown, more: object = {}) => ({ ...lamp, offers, ...more });

  test.each([
    ['1.234,56 €', 'EUR', '1.234,56 €', 1234.56],
    ['¥1,980', 'JPY', '¥1,980', 1980],
    ['kr 1 299,-', undefined, 'kr 1 299,-', 1299],
    [1838.0, 'USD', '$1,838.00', 1838],
    ['$1495', 'USD', '$1495', 1495],
  ])('costs %s %s', async (price, priceCurrency, text, number) => {
    expect(await read(offering({ price, priceCurrency, url: '/p/desk-lamp' }))).toEqual([found(text, number)]);
  });

  test.each([
    [
      'a list of offers, the cheapest that one can have',
      [
        { price: 50, priceCurrency: 'USD', availability: 'OutOfStock' },
        { price: 99, priceCurrency: 'USD' },
        { price: 89, priceCurrency: 'USD', availability: 'http://schema.org/InStock' },
      ],
    ],
    [
      'an aggregate',
      { '@type': 'AggregateOffer', lowPrice: '89', highPrice: '120', priceCurrency: 'USD', offerCount: 3 },
    ],
    [
      'an aggregate with offers',
      { '@type': 'AggregateOffer', priceCurrency: 'USD', offers: [{ price: '99' }, { price: '89' }] },
    ],
    [
      'a specification, sale first',
      {
        priceSpecification: [
          { '@type': 'UnitPriceSpecification', price: '89.00', priceCurrency: 'USD' },
          { price: '120.00', priceCurrency: 'USD', priceType: 'https://schema.org/ListPrice' },
        ],
      },
    ],
    [
      'a specification, old price first',
      {
        priceCurrency: 'USD',
        priceSpecification: [{ price: '120.00', priceType: 'https://schema.org/ListPrice' }, { price: '89.00' }],
      },
    ],
  ])('is offered as %s', async (_how, offers) => {
    expect(await read(offering(offers, { url: '/p/desk-lamp' }))).toMatchObject([found()]);
  });

  test('is a group with variants', async () => {
    const group = {
      '@type': 'ProductGroup',
      name: 'Desk Lamp',
      productGroupID: 'G1',
      brand: 'Lumen',
      hasVariant: [
        { '@type': 'Product', name: 'Desk Lamp, brass', sku: 'B', offers: { price: 99, priceCurrency: 'USD' } },
        {
          '@type': 'Product',
          name: 'Desk Lamp, black',
          sku: 'K',
          url: '/p/desk-lamp',
          image: { '@type': 'ImageObject', url: '/k.jpg' },
          offers: { price: 89, priceCurrency: 'USD' },
        },
      ],
    };
    expect(await read(group)).toEqual([
      {
        ...found(),
        variants: [
          { id: 'B', title: 'Desk Lamp, brass', options: [], price: '$99.00', priceNum: 99, available: null },
          { id: 'K', title: 'Desk Lamp, black', options: [], price: '$89.00', priceNum: 89, available: null },
        ],
      },
    ]);
    expect(await findWhole('desk lamp')).toMatchObject([{ id: 'G1', picture: { url: `${shop.origin}/k.jpg` } }]);
  });

  const size = (name: string, price: number, more: object = {}) => ({
    '@type': 'Product',
    name: 'Desk Lamp',
    sku: `L-${name}`,
    size: name,
    offers: { price, priceCurrency: 'USD' },
    ...more,
  });
  const variants = [
    { id: 'L-S', title: 'Desk Lamp', options: [{ name: 'Size', value: 'S' }], price: { text: '$89.00' } },
    { id: 'L-L', title: 'Desk Lamp', options: [{ name: 'Size', value: 'L' }], price: { text: '$99.00' } },
  ];

  test.each([
    [
      'a group that they name',
      () => [{ '@id': '#g', '@type': 'ProductGroup', name: 'Desk Lamp' }, ...inGroup({ isVariantOf: { '@id': '#g' } })],
    ],
    ['a group that each describes', () => inGroup({ isVariantOf: { '@type': 'ProductGroup', productGroupID: 'G1' } })],
    ['the same group by its id', () => inGroup({ inProductGroupWithID: 'G1' })],
  ])('is one product when its variants belong to %s', async (_how, graph) => {
    await read({ '@graph': graph() });
    expect(await findWhole('desk lamp')).toMatchObject([{ title: 'Desk Lamp', variants, moreVariants: false }]);
  });

  function inGroup(group: object) {
    return [size('S', 89, group), size('L', 99, group)];
  }

  test('has a variant for each article that is offered', async () => {
    const offers = [
      { sku: 'S', name: 'Small', price: 89, priceCurrency: 'USD' },
      { itemOffered: { sku: 'L', name: 'Large' }, price: 99, priceCurrency: 'USD', availability: 'SoldOut' },
      { sku: 'S', price: 95, priceCurrency: 'USD' },
    ];
    await read(offering(offers));
    expect(await findWhole('desk lamp')).toMatchObject([
      {
        variants: [
          { id: 'S', title: 'Small', price: { text: '$89.00' } },
          { id: 'L', title: 'Large', price: { text: '$99.00' }, available: false },
        ],
        moreVariants: false,
      },
    ]);
  });

  test.each([
    ['a range of prices', { '@type': 'AggregateOffer', lowPrice: 89, highPrice: 120, priceCurrency: 'USD' }, true],
    [
      'two prices without a name',
      [
        { price: 89, priceCurrency: 'USD' },
        { price: 99, priceCurrency: 'USD' },
      ],
      true,
    ],
    [
      'the same price twice',
      [
        { price: 89, priceCurrency: 'USD' },
        { price: 89, priceCurrency: 'USD' },
      ],
      true,
    ],
    [
      'a price in each of two currencies',
      [
        { price: 89, priceCurrency: 'USD' },
        { price: 80, priceCurrency: 'EUR' },
      ],
      false,
    ],
    ['a range of one price', { '@type': 'AggregateOffer', lowPrice: 89, highPrice: 89, priceCurrency: 'USD' }, false],
  ])('with %s: whether it may have variants that are not named', async (_what, offers, moreVariants) => {
    await read(offering(offers));
    expect(await findWhole('desk lamp')).toMatchObject([{ moreVariants }]);
  });

  test('refers to its parts by their ids', async () => {
    const graph = {
      '@graph': [
        { '@type': 'WebPage', mainEntity: { '@id': '#p' } },
        { ...lamp, '@id': '#p', brand: { '@id': '#b' }, image: { '@id': '#i' }, offers: [{ '@id': '#o' }] },
        { '@id': '#b', '@type': 'Brand', name: 'Lumen' },
        { '@id': '#i', '@type': 'ImageObject', contentUrl: '/i.png' },
        { '@id': '#o', '@type': 'Offer', price: 89, priceCurrency: 'USD', url: '/p/desk-lamp' },
      ],
    };
    expect(await read(graph)).toEqual([found()]);
    expect((await findWhole('desk lamp'))[0]?.picture?.url).toBe(`${shop.origin}/i.png`);
  });

  test('without a brand is the shop’s own; without a currency it is the page’s', async () => {
    const bare = offering({ price: 89 }, { brand: undefined, url: '/p/desk-lamp' });
    expect(await read(bare, '<meta property="product:price:currency" content="USD">')).toEqual([
      { ...found(), brand: 'Lights' },
    ]);
  });

  test.each([
    ['HTML comments', (text: string) => `<!-- ${text} -->`],
    ['CDATA', (text: string) => `//<![CDATA[\n${text}\n//]]>`],
    ['remarks', (text: string) => `/* by hand */ ${text} // the end`],
    ['a comma too many and a semicolon', (text: string) => `${text.replace(/\}$/, ',}')};`],
    ['line breaks inside of texts', (text: string) => text.replace('Desk Lamp', 'Desk\n\tLamp')],
    ['entities for quotation marks', (text: string) => text.replaceAll('"', '&quot;')],
    ['a mark at the beginning', (text: string) => `\ufeff${text}`],
    ['two documents in one', (text: string) => `{"@type":"Thing","url":"http://x/*y*/"}${text}`],
    ['a wrong escape', (text: string) => text.replace('Desk Lamp', 'Desk \\Lamp')],
  ])('is read though it is broken by %s', async (_how, damage) => {
    const text = JSON.stringify(offering({ price: 89, priceCurrency: 'USD', url: '/p/desk-lamp' }));
    expect(await read(`<script type="application/ld+json">${damage(text)}</script>`)).toEqual([found()]);
  });

  test('that cannot be mended is left out, whatever it is made of', () => {
    for (const text of [
      '',
      '{',
      '}}}',
      '"',
      '{"a":',
      '[[[',
      ']]>',
      '<!--',
      `${'['.repeat(200_000)}`,
      `${'{"a":'.repeat(100_000)}`,
      `"${'\\'.repeat(100_000)}`,
    ]) {
      expect(readJsonLd(text)).toEqual([]);
    }
  });
});

test('a page in another charset is read as it was meant', async () => {
  const page = Buffer.from(
    `<meta charset="windows-1252">${ld({ ...lamp, name: 'Lampe für Bücher', offers: { price: '89', priceCurrency: 'EUR' }, url: '/p/desk-lamp' })}`,
    'latin1',
  );
  shop.answers = {
    '/': ld(site(entry())),
    '/find': '<a href="/p/desk-lamp">Lampe</a>',
    '/p/desk-lamp': (_asked, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page),
  };
  expect(await find('lampe')).toMatchObject([{ title: 'Lampe für Bücher', price: '€89.00' }]);
});
