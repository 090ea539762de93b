import { afterAll, describe, expect, test } from 'vitest';
import { catalog } from '../../../sandbox/shop/catalog.ts';
import { openShops } from '../../../sandbox/shop/open-shops.ts';
import { searchWays } from '../../../src/app/sandbox-port.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createOutgoing } from '../../../src/kernel/outgoing/outgoing.ts';
import { describeProduct, type Product } from '../../../src/shopping/search/product.ts';
import { readPictureHeader } from '../../../src/shopping/search/reading/picture-header.ts';
import { readWebsite } from '../../../src/shopping/search/website.ts';
import { openMerchantSearch } from '../../support/merchant.ts';
import { useParser } from '../../support/parser.ts';

const logger = createLogger('silent');
const parser = useParser();
const closers: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

async function openSearch(ways: readonly (typeof searchWays)[number][]) {
  const shops = await openShops({ logger, ways, publicUrl: () => 'https://pay.example' });
  const outgoing = createOutgoing({ allowPrivateHosts: [], names: shops.names });
  closers.push(() => outgoing.close().then(() => shops.stop()));
  const clock = { now: () => Date.now() };
  const search = openMerchantSearch({ outgoing, parser, clock });
  const find = async (query: string, website = 'demo-shop.example') => {
    const site = readWebsite(website, outgoing);
    if (site.refusal !== undefined) throw new Error(site.refusal);
    const found: Product[] = [];
    for await (const one of search.search(site, query, new AbortController().signal)) found.push(one);
    return found;
  };
  return { shops, find };
}

describe('the demo shop', () => {
  test.each(searchWays)('can be searched by %s alone', async (way) => {
    const { find } = await openSearch([way]);
    const mugs = await find('mug');
    expect(mugs.length).toBeGreaterThanOrEqual(3);
    expect(mugs.filter(({ title }) => title.includes('Mug')).map(describeProduct)).toContainEqual({
      title: 'Stoneware Mug, Clay',
      brand: 'Alder Pottery',
      price: '$24.00',
      priceNum: 24,
      url: 'http://demo-shop.example/products/stoneware-mug-clay',
    });
    for (const { picture } of mugs) expect(picture?.url).toMatch(/^http:\/\/demo-shop\.example\/pictures\/.*\.png$/);
    if (way === 'shopify') return;
    expect(await find('lisbon')).toMatchObject([{ price: { currency: 'EUR', atomic: 450n } }]);
  });

  test('with every way switched off cannot be searched', async () => {
    const { find } = await openSearch([]);
    await expect(find('mug')).rejects.toMatchObject({ code: 'merchant_unsupported' });
  });

  test('has about forty products with pictures, free shipping but for one, dollars but for one', async () => {
    expect(catalog.length).toBeGreaterThanOrEqual(38);
    expect(new Set(catalog.map(({ slug }) => slug)).size).toBe(catalog.length);
    expect(catalog.filter(({ shippingCents }) => shippingCents > 0)).toHaveLength(1);
    expect(catalog.filter(({ currency }) => currency === 'EUR')).toHaveLength(1);
    const { shops } = await openSearch(['json-ld']);
    const shelf = await (await fetch(shops.demoShop.url)).text();
    for (const { slug } of catalog) expect(shelf).toContain(`/pictures/${slug}.png`);
    const reply = await fetch(`${shops.demoShop.url}/pictures/${catalog[0]?.slug}.png`);
    const bytes = Buffer.from(await reply.arrayBuffer());
    expect(readPictureHeader({ bytes })).toEqual({ type: 'image/png', width: 400, height: 400 });
  });

  test('runs nothing of what it is asked', async () => {
    const { shops } = await openSearch(['json-ld']);
    const hostile = '</script><script>alert(1)</script>';
    const page = await (await fetch(`${shops.demoShop.url}/search?q=${encodeURIComponent(hostile)}`)).text();
    expect(page).not.toContain('<script>alert');
    for (const path of ['/%00', '/products/..%2f', '//x', '/search', `/ucp/2026-08-25/catalog/search`]) {
      expect((await fetch(`${shops.demoShop.url}${path}`)).status).toBeLessThan(500);
    }
  });
});
