import { afterAll, expect, test } from 'vitest';
import { createOutgoing } from '../../../../src/kernel/outgoing/outgoing.ts';
import { readWebsite } from '../../../../src/shopping/search/website.ts';
import { openMerchantSearch, startTestShop } from '../../../support/merchant.ts';
import { useParser } from '../../../support/parser.ts';

const shop = await startTestShop();
const outgoing = createOutgoing({ allowPrivateHosts: [{ host: '127.0.0.1', port: shop.server.port }] });
afterAll(() => outgoing.close());
const parser = useParser();

const minute = 60_000;

function openSearch() {
  const clock = { at: 0, now: () => clock.at };
  const search = openMerchantSearch({ outgoing, parser, clock });
  const site = readWebsite(shop.website, outgoing);
  if (site.refusal !== undefined) throw new Error(site.refusal);
  return {
    clock,
    search,
    site,
    async find(query: string) {
      shop.asked.length = 0;
      const titles: string[] = [];
      for await (const { title } of search.search(site, query, new AbortController().signal)) titles.push(title);
      return { titles, asked: shop.asked.map(({ path }) => path).sort() };
    },
  };
}

const suggest = (title: string) => ({
  resources: { results: { products: [{ title, vendor: 'V', price: '5', url: '/m' }] } },
});
const woo = [
  {
    id: 1,
    name: 'Woo mug',
    permalink: '/w',
    brands: [{ name: 'W' }],
    prices: { price: '500', currency_code: 'USD', currency_minor_unit: 2 },
  },
];

test('what a site is gets remembered for an hour, its answers for a minute, its robots.txt for an hour', async () => {
  const { clock, find } = openSearch();
  shop.answers = { '/search/suggest.json': suggest('Mug'), '/cart.js': { currency: 'USD' } };
  const first = await find('mug');
  expect(first.titles).toEqual(['Mug']);
  expect(first.asked).toEqual(expect.arrayContaining(['/robots.txt', '/.well-known/ucp', '/search/suggest.json']));
  expect(await find(' MUG ')).toEqual({ titles: ['Mug'], asked: [] });
  const asked = ['/cart.js', '/m.js', '/search/suggest.json'];
  expect(await find('mug two')).toEqual({ titles: ['Mug'], asked });
  clock.at = minute;
  expect(await find('mug')).toEqual({ titles: ['Mug'], asked });
  clock.at = 62 * minute;
  expect((await find('mug')).asked).toEqual(expect.arrayContaining(['/robots.txt']));
});

test('whoever stops reading leaves nothing behind, and what the site is stays known', async () => {
  const { search, site, find } = openSearch();
  const pages = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [
      `/p/mug-${index}`,
      `<script type="application/ld+json">{"@type":"Product","name":"Mug ${index}","brand":"B","offers":{"price":5,"priceCurrency":"USD"}}</script>`,
    ]),
  );
  shop.answers = {
    '/': '<p>Hello</p>',
    '/search': Object.keys(pages)
      .map((path) => `<a href="${path}">mug</a>`)
      .join(''),
    ...pages,
  };
  for await (const { title } of search.search(site, 'mug', new AbortController().signal)) {
    expect(title).toMatch(/^Mug \d$/);
    break;
  }
  const { asked } = await find('mug');
  expect(asked).not.toContain('/.well-known/ucp');
  expect(asked).toContain('/p/mug-7');
});

test('a site that has become another is asked in every other way', async () => {
  const { find } = openSearch();
  shop.answers = { '/search/suggest.json': suggest('Mug'), '/cart.js': { currency: 'USD' } };
  await find('mug');
  shop.answers = { '/wp-json/wc/store/v1/products': woo };
  expect((await find('woo mug')).titles).toEqual(['Woo mug']);
  expect(await find('other mug')).toEqual({ titles: ['Woo mug'], asked: ['/wp-json/wc/store/v1/products'] });
});

test('a failure is not remembered, but for a robots.txt that was not told', async () => {
  const { clock, find } = openSearch();
  await expect(find('mug')).rejects.toMatchObject({ code: 'merchant_unsupported' });
  shop.answers = { '/wp-json/wc/store/v1/products': woo };
  expect((await find('mug')).titles).toEqual(['Woo mug']);

  const other = openSearch();
  shop.answers = {
    '/robots.txt': (_asked, response) => response.writeHead(500).end(),
    '/wp-json/wc/store/v1/products': woo,
  };
  await expect(other.find('mug')).rejects.toMatchObject({ status: 502 });
  delete shop.answers['/robots.txt'];
  await expect(other.find('mug')).rejects.toMatchObject({ status: 502 });
  expect(shop.asked).toEqual([]);
  other.clock.at = minute;
  expect((await other.find('mug')).titles).toEqual(['Woo mug']);
  expect(clock.at).toBe(0);
});

test('what UCP answers is not kept', async () => {
  const version = '2026-08-25';
  const { find } = openSearch();
  shop.answers = {
    '/.well-known/ucp': {
      ucp: {
        version,
        services: { 'dev.ucp.shopping': [{ version, transport: 'rest', endpoint: `${shop.origin}/ucp` }] },
        capabilities: { 'dev.ucp.shopping.catalog.search': [{ version }] },
      },
    },
    '/ucp/catalog/search': {
      ucp: { version },
      products: [
        {
          title: 'Mug',
          url: '/m',
          metadata: { brand: 'B' },
          variants: [{ id: '1', price: { amount: 5, currency: 'USD' } }],
        },
      ],
    },
  };
  await find('mug');
  expect(await find('mug')).toEqual({ titles: ['Mug'], asked: ['/.well-known/ucp', '/ucp/catalog/search'] });
});
