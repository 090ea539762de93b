import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { isMatrix } from '../../../support/matrix.ts';
import { startTestShop, useSearch } from '../../../support/merchant.ts';

const shop = await startTestShop();
const elsewhere = await startTestShop();
const { find, findWhole } = useSearch(shop);
/** Patient enough that the shop hears of it on a slow machine as well. */
const impatient = useSearch(shop, { withinMs: 2_000 });
const inside = useSearch(shop, { outgoing: { lookup: async () => ['10.1.2.3'] } });

const everywhere = (answer: (response: ServerResponse, path: string) => unknown) => {
  const paths = [
    '/',
    '/.well-known/ucp',
    '/search/suggest.json',
    '/wp-json/wc/store/v1/products',
    '/search',
    '/cart.js',
  ];
  shop.answers = Object.fromEntries(
    paths.map((path) => [path, (_asked: unknown, response: ServerResponse) => answer(response, path)]),
  );
};
const asJson = { 'content-type': 'application/json' };
const unsupported = '422 merchant_unsupported';
/** A site with a form that searches may be one that has found nothing. */
const nothing = expect.toSatisfy((outcome) => outcome === unsupported || JSON.stringify(outcome) === '[]');
const suggest = (...products: readonly object[]) => ({ resources: { results: { products } } });

describe('a hostile server', () => {
  test('with an endless body takes neither memory nor time', async () => {
    let sent = 0;
    const pour = (response: ServerResponse, type: string) => {
      response.writeHead(200, { 'content-type': type });
      const chunk = Buffer.alloc(65_536, '[');
      const more = () => {
        if (response.destroyed) return;
        sent += chunk.length;
        if (response.write(chunk)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    };
    everywhere((response, path) =>
      pour(response, path === '/' || path === '/search' ? 'text/html' : 'application/json'),
    );
    expect(await find('mug')).toBe(unsupported);
    expect(sent).toBeLessThan(60_000_000);
  });

  test('with slow bytes is given up', async () => {
    const timers: NodeJS.Timeout[] = [];
    everywhere((response) => {
      response.writeHead(200, asJson).write('[');
      timers.push(setInterval(() => response.write(' '), 20));
    });
    expect(await impatient.find('mug')).toBe('504 merchant_unreachable');
    for (const timer of timers) clearInterval(timer);
  });

  test('with a robots.txt that never ends is given up, or cut', async () => {
    shop.answers = { '/robots.txt': (_asked, response) => response.writeHead(200).write('User-agent: *\n') };
    expect(await impatient.find('mug')).toBe('504 merchant_unreachable');
    shop.answers = {
      '/robots.txt': (_asked, response) => response.end(`User-agent: *\nDisallow: /\n${'# more\n'.repeat(200_000)}`),
    };
    expect(await find('mug')).toBe(unsupported);
    expect(shop.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/robots.txt']);
  });

  test('with wrong types everywhere finds nothing and breaks nothing', async () => {
    for (const value of [
      null,
      0,
      'text',
      [],
      [[]],
      {},
      { ucp: 7 },
      { resources: { results: { products: [1, null, 'x', [], { title: 7, price: {} }] } } },
      [null, 1, { prices: null }, { prices: { price: {} } }],
      { '@graph': 1 },
    ]) {
      everywhere((response) => response.writeHead(200, asJson).end(JSON.stringify(value)));
      expect([value, await find('mug')]).toEqual([value, nothing]);
    }
  });

  test('with ten megabytes of nested JSON is cut short', async () => {
    const nested = `${'{"a":['.repeat(900_000)}${']}'.repeat(900_000)}`;
    everywhere((response) => response.writeHead(200, asJson).end(nested));
    expect(await find('mug')).toBe(unsupported);
    const fitting = `${'['.repeat(700_000)}${']'.repeat(700_000)}`;
    everywhere((response, path) =>
      path === '/'
        ? response
            .writeHead(200, { 'content-type': 'text/html' })
            .end(`<script type="application/ld+json">${'{"a":'.repeat(200_000)}</script>`)
        : response.writeHead(200, asJson).end(fitting),
    );
    expect(await find('mug')).toBe(unsupported);
  });

  test('with a page made of nothing but openings is read in one pass', async () => {
    const pieces = ['<form><input name=q>', '<script type="application/ld+json">{'];
    const others = ['<a href="x">', '<!--', '<a '.repeat(3), '&lt;', '<title>', '"', '<svg><style>'];
    for (const piece of isMatrix ? [...pieces, ...others] : pieces) {
      const page = piece.repeat(Math.ceil(1_400_000 / piece.length));
      everywhere((response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page));
      expect([piece, await find('mug')]).toEqual([piece, nothing]);
    }
  });

  test.each([
    'http://127.0.0.1:1/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'http://localhost/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
    '//evil.example/x',
    'http://127.0.0.1@evil.example/',
    '\\\\evil.example\\x',
    'http://[broken',
  ])('that redirects to %s is not followed', async (location) => {
    everywhere((response) => response.writeHead(302, { location }).end());
    expect(await find('mug')).toBe(unsupported);
  });

  test('that redirects to another server of this machine does not get there', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      everywhere((response) => response.writeHead(status, { location: `${elsewhere.origin}/secret` }).end());
      expect(await find('mug')).toBe(unsupported);
    }
    shop.answers = {
      '/robots.txt': (_asked, response) => response.writeHead(301, { location: `${elsewhere.origin}/` }).end(),
    };
    await find('mug');
    expect(elsewhere.asked).toEqual([]);
  });

  test('that redirects in circles is left', async () => {
    everywhere((response, path) => response.writeHead(302, { location: `${path}?again=${Math.random()}` }).end());
    expect(await find('mug')).toBe(unsupported);
    expect(shop.asked.length).toBeLessThan(60);
  });

  test('whose UCP profile names an address inside is not called there', async () => {
    const version = '2026-08-25';
    const profile = (endpoint: string) => ({
      ucp: {
        version,
        services: {
          'dev.ucp.shopping': [
            { version, transport: 'rest', endpoint },
            { version, transport: 'mcp', endpoint },
          ],
        },
        capabilities: { 'dev.ucp.shopping.catalog.search': [{ version }] },
      },
    });
    for (const endpoint of [
      elsewhere.origin,
      'http://169.254.169.254',
      'https://127.0.0.1',
      'file:///etc',
      'https://user:x@shop.example',
    ]) {
      shop.answers = { '/.well-known/ucp': profile(endpoint) };
      expect(await find('mug')).toBe(unsupported);
    }
    shop.answers = {
      '/.well-known/ucp': {
        ucp: { version: '2099-01-01', supported_versions: { [version]: `${elsewhere.origin}/p` } },
      },
    };
    expect(await find('mug')).toBe(unsupported);
    expect(elsewhere.asked).toEqual([]);
  });

  test('whose text is made to be obeyed, run or hidden is cleaned', async () => {
    const title = `Mug<script>alert(1)</script>\u202e\u200b\u{e0041}<img src=x onerror=alert(1)>`;
    shop.answers = {
      '/cart.js': { currency: 'USD' },
      '/search/suggest.json': suggest(
        { title, vendor: '<b>\u202eBad</b>'.repeat(200), price: '5.00', url: '/mug', image: 'javascript:alert(1)' },
        { title: 'Mug two', price: '5.00', url: 'javascript:alert(1)' },
        { title: 'Mug three', price: '5.00', url: 'data:text/html,x' },
        { title: 'Mug four', price: '5.00', url: 'https://user:secret@evil.example/' },
        { title: 'Mug five', price: '5.00', url: 'http://10.0.0.1/' },
        {
          title: `Mug ${'x'.repeat(5_000)}`,
          vendor: 'V',
          price: '5.00',
          url: '/long',
          image: 'http://169.254.169.254/x.png',
        },
        { title: 'Mug six', vendor: 'V', price: '<b>6</b> USD', url: '/six' },
      ),
    };
    const products = await findWhole('mug');
    expect(products.map(({ url }) => url.replace(shop.origin, '')).sort()).toEqual(['/long', '/mug', '/six']);
    const text = JSON.stringify(products.map(({ price, ...rest }) => ({ ...rest, price: price.text })));
    expect(text).not.toMatch(/[<>]|javascript|169\.254|[\u200b-\u200f\u202a-\u202e]|\u{e0041}/u);
    for (const one of products) {
      expect(one.title.length).toBeLessThanOrEqual(200);
      expect(one.brand.length).toBeLessThanOrEqual(80);
    }
    expect(products.find(({ url }) => url.endsWith('/mug'))?.title).toBe('Mug');
  });

  test('cannot reach through prototypes', async () => {
    shop.answers = {
      '/search/suggest.json': (_asked, response) =>
        response
          .writeHead(200, asJson)
          .end(
            '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"resources":{"results":{"products":[{"__proto__":{"title":"x"},"title":"Mug","price":"5","url":"/m","vendor":"V"}]}}}',
          ),
    };
    expect(await find('mug')).toMatchObject([{ title: 'Mug' }]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('robots.txt', () => {
  test('that forbids one way leaves the others', async () => {
    shop.answers = {
      '/robots.txt': 'User-agent: *\nDisallow: /search',
      '/search/suggest.json': suggest({ title: 'Mug', vendor: 'V', price: '5', url: '/m' }),
      '/wp-json/wc/store/v1/products': [
        {
          id: 1,
          name: 'Mug',
          permalink: '/w',
          brands: [{ name: 'W' }],
          prices: { price: '500', currency_code: 'USD', currency_minor_unit: 2 },
        },
      ],
    };
    expect(await find('mug')).toMatchObject([{ brand: 'W' }]);
    expect(shop.asked.map(({ path }) => path)).not.toContain('/search/suggest.json');
  });

  test('that forbids everything is heard before anything else is asked', async () => {
    shop.answers = { '/robots.txt': 'User-agent: *\nDisallow: /' };
    expect(await find('mug')).toBe(unsupported);
    expect(shop.asked.map(({ path }) => path)).toEqual(['/robots.txt']);
  });

  test('that a redirect leads to is the one of where it leads', async () => {
    shop.answers = {
      '/robots.txt': 'User-agent: *\nDisallow: /hidden',
      '/search/suggest.json': (_asked, response) => response.writeHead(302, { location: '/hidden' }).end(),
      '/hidden': suggest({ title: 'Mug', vendor: 'V', price: '5', url: '/m' }),
    };
    expect(await find('mug')).toBe(unsupported);
    expect(shop.asked.map(({ path }) => path)).not.toContain('/hidden');
  });

  test('that the server cannot tell means nothing may be read', async () => {
    shop.answers = { '/robots.txt': (_asked, response) => response.writeHead(500).end() };
    expect(await find('mug')).toBe('502 merchant_unreachable');
    expect(shop.asked.map(({ path }) => path)).toEqual(['/robots.txt']);
  });
});

test('a name that leads inside is told like one that leads nowhere', async () => {
  expect(await inside.find('mug', 'inside.example.com')).toBe('502 merchant_unreachable');
});
