import { describe, expect, test } from 'vitest';
import { type Asked, startTestShop, useSearch } from '../../../support/merchant.ts';

const shop = await startTestShop();
const { find, findWhole } = useSearch(shop, { only: ['ucp'] });

const search = 'dev.ucp.shopping.catalog.search';

/** As Shopify's storefronts have it: 2026-08-25 at the root, an embedded service of another date, MCP alone. */
function profile({ version = '2026-08-25', more = {}, transports = ['mcp'] as readonly string[] } = {}) {
  return {
    ucp: {
      version,
      services: {
        'dev.ucp.shopping': [
          { version: '2026-04-08', transport: 'embedded', spec: 'https://ucp.dev/x', schema: 'https://ucp.dev/y' },
          ...transports.map((transport) => ({
            version,
            transport,
            endpoint: `${shop.origin}/api/ucp/${transport}${transport === 'rest' ? '/' : ''}`,
          })),
        ],
      },
      capabilities: {
        [search]: [{ version, schema: 'https://ucp.dev/schemas/shopping/catalog_search.json' }],
        'dev.ucp.shopping.checkout': [{ version }],
      },
      payment_handlers: { 'com.google.pay': [{ id: 'gpay', version: '2026-01-11' }] },
      ...more,
    },
  };
}

const product = {
  id: 'gid://shopify/Product/7001',
  handle: 'wool-runner',
  title: 'Wool Runner',
  description: { html: '<p>Light.</p>' },
  url: 'https://shop.example/products/wool-runner?utm_source=ucp&variant=42',
  price_range: { min: { amount: 9800, currency: 'USD' }, max: { amount: 11000, currency: 'USD' } },
  media: [
    { type: 'video', url: 'https://cdn.example/v.mp4' },
    { type: 'image', url: 'https://cdn.example/runner.jpg', alt_text: 'A grey shoe' },
  ],
  variants: [
    {
      id: 'gid://shopify/ProductVariant/42',
      title: 'Grey / 8',
      price: { amount: 11000, currency: 'USD' },
      availability: { available: true, status: 'in_stock' },
    },
    { id: 'gid://shopify/ProductVariant/43', title: 'Grey / 9', price: { amount: 9800, currency: 'USD' } },
  ],
  metadata: { vendor: 'Woolworks' },
};
const answer = (products: readonly unknown[], version = '2026-08-25') => ({
  ucp: { version, status: 'success', capabilities: { [search]: [{ version }] } },
  products,
  pagination: { has_next_page: false },
});
const found = {
  title: 'Wool Runner',
  brand: 'Woolworks',
  price: '$110.00',
  priceNum: 110,
  url: 'https://shop.example/products/wool-runner?variant=42',
  variants: [
    {
      id: 'gid://shopify/ProductVariant/42',
      title: 'Grey / 8',
      options: [],
      price: '$110.00',
      priceNum: 110,
      available: true,
    },
    {
      id: 'gid://shopify/ProductVariant/43',
      title: 'Grey / 9',
      options: [],
      price: '$98.00',
      priceNum: 98,
      available: null,
    },
  ],
};
const rpc = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result });

describe('over MCP', () => {
  test('asks as the protocol wants it, and reads the variants', async () => {
    shop.answers = { '/.well-known/ucp': profile(), '/api/ucp/mcp': rpc({ structuredContent: answer([product]) }) };
    expect(await findWhole('wool runner')).toEqual([
      expect.objectContaining({
        title: 'Wool Runner',
        brand: 'Woolworks',
        id: 'gid://shopify/Product/7001',
        variants: [
          {
            id: 'gid://shopify/ProductVariant/42',
            title: 'Grey / 8',
            options: [],
            price: { atomic: 11000n, decimals: 2, currency: 'USD', text: '$110.00' },
            available: true,
          },
          expect.objectContaining({ id: 'gid://shopify/ProductVariant/43', title: 'Grey / 9', available: undefined }),
        ],
        moreVariants: false,
        available: true,
        price: { atomic: 11000n, decimals: 2, currency: 'USD', text: '$110.00' },
        picture: { url: 'https://cdn.example/runner.jpg', alt: 'A grey shoe' },
      }),
    ]);
    const asked = shop.asked.find(({ path }) => path === '/api/ucp/mcp') as Asked;
    expect(asked.headers.accept).toBe('application/json, text/event-stream');
    expect(JSON.parse(asked.body)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'search_catalog',
        arguments: {
          meta: { 'ucp-agent': { profile: 'https://pay.example/.well-known/ucp' } },
          catalog: { query: 'wool runner', pagination: { limit: 10 } },
        },
      },
    });
  });

  test.each([
    [
      'as a stream of events',
      () => `event: message\r\ndata: ${JSON.stringify(rpc({ structuredContent: answer([product]) }))}\r\n\r\n`,
      'text/event-stream',
    ],
    [
      'as text in its content',
      () => JSON.stringify(rpc({ content: [{ type: 'text', text: JSON.stringify(answer([product])) }] })),
      'application/json',
    ],
  ])('is read %s', async (_how, body, type) => {
    shop.answers = {
      '/.well-known/ucp': profile(),
      '/api/ucp/mcp': (_asked, response) => response.writeHead(200, { 'content-type': type }).end(body()),
    };
    expect(await find('wool runner')).toEqual([found]);
  });

  test.each([
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: -32_001, message: 'profile_unreachable' } }],
    ['a result that failed', rpc({ isError: true, content: [] })],
    [
      'an error of the business',
      rpc({ structuredContent: { ucp: { version: '2026-08-25', status: 'error' }, messages: [] } }),
    ],
    ['nothing of the kind', rpc({ structuredContent: { products: 'many' } })],
  ])('that is answered with %s is not offered', async (_what, body) => {
    shop.answers = { '/.well-known/ucp': profile(), '/api/ucp/mcp': body };
    expect(await find('wool')).toBe('422 merchant_unsupported');
  });
});

describe('over REST', () => {
  test('asks with who we are, and is preferred to MCP', async () => {
    shop.answers = {
      '/.well-known/ucp': profile({ transports: ['mcp', 'rest'] }),
      '/api/ucp/rest/catalog/search': answer([product]),
    };
    expect(await find('wool runner')).toEqual([found]);
    const asked = shop.asked.at(-1) as Asked;
    expect([asked.method, asked.path]).toEqual(['POST', '/api/ucp/rest/catalog/search']);
    expect(asked.headers['ucp-agent']).toBe('profile="https://pay.example/.well-known/ucp"');
    expect(asked.headers['request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(asked.body)).toEqual({ query: 'wool runner', pagination: { limit: 10 } });
  });

  test('that does not work leaves MCP', async () => {
    shop.answers = {
      '/.well-known/ucp': profile({ transports: ['rest', 'mcp'] }),
      '/api/ucp/mcp': rpc({ structuredContent: answer([product]) }),
    };
    expect(await find('wool')).toEqual([found]);
  });
});

describe('of versions', () => {
  test('the older one alone will do', async () => {
    shop.answers = {
      '/.well-known/ucp': profile({ version: '2026-04-08', transports: ['rest'] }),
      '/api/ucp/rest/catalog/search': answer([product], '2026-04-08'),
    };
    expect(await find('wool')).toEqual([found]);
  });

  test('a newer one that we do not know leads to the newest that both speak', async () => {
    shop.answers = {
      '/.well-known/ucp': {
        ucp: {
          version: '2027-01-15',
          services: 'of another shape',
          supported_versions: { '2026-08-25': `${shop.origin}/old`, '2026-04-08': `${shop.origin}/older` },
        },
      },
      '/old': profile(),
      '/api/ucp/mcp': rpc({ structuredContent: answer([product]) }),
    };
    expect(await find('wool')).toEqual([found]);
    expect(shop.asked.map(({ path }) => path)).not.toContain('/older');
  });

  test('a profile under a date that is not its own does not count', async () => {
    shop.answers = {
      '/.well-known/ucp': {
        ucp: { version: '2027-01-15', supported_versions: { '2026-08-25': `${shop.origin}/old` } },
      },
      '/old': profile({ version: '2026-04-08' }),
    };
    expect(await find('wool')).toBe('422 merchant_unsupported');
  });

  test('none that we speak, or no search, is not offered', async () => {
    shop.answers = { '/.well-known/ucp': profile({ version: '2026-01-11' }) };
    expect(await find('wool')).toBe('422 merchant_unsupported');
    shop.answers = { '/.well-known/ucp': profile({ more: { capabilities: {} } }) };
    expect(await find('wool')).toBe('422 merchant_unsupported');
    shop.answers = { '/.well-known/ucp': { ucp: [] } };
    expect(await find('wool')).toBe('422 merchant_unsupported');
  });
});

test('a product is read leniently, and one without a price not at all', async () => {
  shop.answers = {
    '/': '<title>Bare Shop – all things wool</title>',
    '/.well-known/ucp': profile(),
    '/api/ucp/mcp': rpc({
      structuredContent: answer([
        {
          id: 1,
          title: 'Wool Bare',
          variants: [{ id: 'v1', price: { amount: 1980, currency: 'jpy' } }],
          handle: 'wool bare',
        },
        {
          title: 'Wool Range',
          price_range: { min: { amount: 500, currency: 'EUR' } },
          url: '/wool-range',
          variants: 'none',
        },
        { title: 'Wool Free', price_range: { min: { amount: 0, currency: 'EUR' } } },
        { title: 'Wool Words', variants: [{ price: { amount: '12', currency: 7 } }], url: '/words' },
        { title: '', variants: [{ price: { amount: 12, currency: 'USD' } }] },
        'wool',
        null,
      ]),
    }),
  };
  // A variant without an id cannot be ordered.
  const bare = { brand: 'Bare Shop', moreVariants: true };
  expect(await find('wool')).toEqual([
    {
      title: 'Wool Bare',
      brand: 'Bare Shop',
      price: '¥1,980',
      priceNum: 1980,
      url: `${shop.origin}/products/wool%20bare`,
    },
    { ...bare, title: 'Wool Range', price: '€5.00', priceNum: 5, url: `${shop.origin}/wool-range` },
    { ...bare, title: 'Wool Words', price: '0.12', priceNum: 0.12, url: `${shop.origin}/words` },
  ]);
});

test('nothing found is an empty list', async () => {
  shop.answers = { '/.well-known/ucp': profile(), '/api/ucp/mcp': rpc({ structuredContent: answer([]) }) };
  expect(await find('wool')).toEqual([]);
});

test('an address of a profile that is none is the shop’s mistake and not ours', async () => {
  for (const leaf of ['https://', 'http://[', 'https://a b/', '//:0']) {
    shop.answers = {
      '/.well-known/ucp': { ucp: { version: '2027-01-01', supported_versions: { '2026-08-25': leaf } } },
    };
    expect(await find('wool')).toBe('422 merchant_unsupported');
  }
});

describe('variants', () => {
  const option = (...labels: readonly string[]) => ({
    name: 'Size',
    values: labels.map((label) => ({ id: label, label })),
  });
  const size = (label: string, amount = 3000) => ({
    id: `v-${label}`,
    title: label,
    price: { amount, currency: 'USD' },
    options: [{ name: 'Size', label }],
  });

  test.each([
    ['one of three sizes', { options: [option('S', 'M', 'L')], variants: [size('S')] }, true],
    ['two of three sizes', { options: [option('S', 'M', 'L')], variants: [size('S'), size('M')] }, true],
    ['all sizes', { options: [option('S', 'M')], variants: [size('S'), size('M')], price_range: undefined }, false],
    ['none that costs the most', { variants: [size('S', 9800), size('M')] }, true],
    ['the only size', { options: [option('S')], variants: [size('S')], price_range: undefined }, false],
    ['one price of a range', { variants: [size('S')] }, true],
    ['one without an id', { variants: [size('S'), { title: 'M', price: size('M').price }] }, true],
  ])('%s: whether there are more than these', async (_what, change, moreVariants) => {
    shop.answers = {
      '/.well-known/ucp': profile(),
      '/api/ucp/mcp': rpc({ structuredContent: answer([{ ...product, ...change }]) }),
    };
    expect(await findWhole('wool runner')).toMatchObject([
      { moreVariants, variants: expect.arrayContaining([expect.objectContaining({ id: 'v-S' })]) },
    ]);
  });

  test('of a hundred and more only some are read and shown', async () => {
    const variants = Array.from({ length: 130 }, (_, index) => size(String(index)));
    shop.answers = {
      '/.well-known/ucp': profile(),
      '/api/ucp/mcp': rpc({ structuredContent: answer([{ ...product, variants }]) }),
    };
    const [whole] = await findWhole('wool runner');
    expect([whole?.variants.length, whole?.moreVariants]).toEqual([100, true]);
    const [shown] = (await find('wool runner')) as { variants: object[]; moreVariants: boolean }[];
    expect([shown?.variants.length, shown?.moreVariants]).toEqual([20, true]);
  });
});
