import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import type { TestAccount } from '../support/client.ts';
import { startTestShop } from '../support/merchant.ts';
import { describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const shop = await startTestShop();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: shop.website } });

const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
});

/** A shop that does not answer in time, because the machine is busy, is asked again, as an agent does. */
async function search(website: string, query: string): Promise<{ previewUrl: string; products: readonly object[] }> {
  return until(`${website} to be searched`, async () => {
    const { status, body } = await service.client.post('/shopping/search', { website, query }, ada.key);
    return status === 200 && body;
  });
}

const previewOf = async (website: string, query: string) => (await search(website, query)).previewUrl;

/** One that came too late, because the machine was busy, is tried again after a minute. */
async function hasPictures(preview: string, count: number): Promise<boolean> {
  const answers = await Promise.all(Array.from({ length: count }, (_, place) => fetch(`${preview}/${place}`)));
  return answers.every(({ status }) => status === 200);
}

describeInBrowser('in a browser', (open) => {
  inEveryLook(
    'the photos of a search are shown on a $size, $colorScheme, and nobody else is asked',
    async ({ viewport, colorScheme }) => {
      // How many there are, and which comes first, depends on which way into the shop was quicker.
      const { previewUrl, products } = await search('demo-shop.example', 'mug');
      expect(products.length).toBeGreaterThanOrEqual(3);
      await until('its photos to be there', () => hasPictures(previewUrl, products.length), 150_000);
      const { page, trouble, foreignTo } = await open(previewUrl, { viewport, colorScheme });
      expect(await trouble()).toEqual([]);
      expect(await foreignTo(service.url)).toEqual([]);
      expect(await page.locator('.products li').count()).toBe(products.length);
      expect(await loadedPictures(page)).toEqual(products.map(() => 400));
      const mug = page.locator('.products li', { hasText: 'Stoneware Mug, Sea' });
      expect(await mug.locator('img').getAttribute('alt')).toBe('A drawing of Stoneware Mug, Sea');
      expect(await mug.innerText()).toMatch(/Alder Pottery\s+Stoneware Mug, Sea\s+\$24\.00/);
      expect(await tooWide(page)).toEqual([]);
      const href = (await mug.locator('a').getAttribute('href')) ?? '';
      const opened = await open(href, { viewport, colorScheme });
      expect(await opened.trouble()).toEqual([]);
      expect(await opened.page.locator('h1').innerText()).toBe('Stoneware Mug, Sea');
      expect(await tooWide(opened.page)).toEqual([]);
    },
  );

  it('what a stranger writes into it neither runs nor breaks the page', async () => {
    const long = 'Donaudampfschifffahrtsgesellschaft'.repeat(5);
    shop.answers = {
      '/search/suggest.json': {
        resources: {
          results: {
            products: [
              { title: `Mug ${hostile}`, vendor: hostile, price: '5.00', url: '/1', image: '/missing.png' },
              {
                title: `Mug ${long}`,
                vendor: long,
                price: '123456789012.00',
                url: '/2',
                image: null,
                available: false,
              },
              { title: 'مج أزرق mug', vendor: 'متجر', price: '5.00', url: '/3', image: null },
            ],
          },
        },
      },
    };
    const { page, foreignTo } = await open(await previewOf(shop.website, 'mug'), { viewport: sizes.phone });
    expect(await foreignTo(service.url)).toEqual([]);
    expect(await page.title()).toBe(`“mug” at ${shop.website}`);
    expect(await page.locator('main script').count()).toBe(0);
    expect(await page.locator('.products img').count()).toBe(1);
    expect(await page.locator('.sold-out').count()).toBe(1);
    // The frame that stands in for a photo that is not there.
    expect(await loadedPictures(page)).not.toContain(0);
    expect(await tooWide(page)).toEqual([]);
  });

  it('says so in a friendly way where there is nothing', async () => {
    const { page } = await open(`${service.url}/shopping/preview/nothing`, { viewport: sizes.phone });
    expect(await page.locator('h1').innerText()).toBe('Preview not found');
    expect(await tooWide(page)).toEqual([]);
    const empty = await open(await previewOf('demo-shop.example', 'xylophone'), { viewport: sizes.phone });
    expect(await empty.page.locator('main').innerText()).toContain('found nothing');
    expect(await empty.trouble()).toEqual([]);
  });

  it('the demo shop and the page about our robot fit a phone', { tags: ['matrix'] }, async () => {
    const { body } = await service.client.get('/sandbox');
    for (const url of [
      body.demoShop.url,
      `${body.demoShop.url}/search?q=mug`,
      body.closedShop.url,
      `${service.url}/bot`,
    ]) {
      const { page, trouble } = await open(url, { viewport: sizes.phone });
      expect([url, await trouble(), await tooWide(page)]).toEqual([url, [], []]);
    }
  });
});

/** The width of each picture as the browser has read it; 0 for one that is broken. */
async function loadedPictures(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`
    Promise.all([...document.querySelectorAll('main img')].map(async (image) => {
      image.loading = 'eager';
      await image.decode().catch(() => {});
      return image.naturalWidth;
    }))
  `);
}
