import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser, launchBrowser, noBrowser } from '../support/browser.ts';
import type { TestAccount } from '../support/client.ts';
import { startTestShop } from '../support/merchant.ts';
import { useService } from '../support/service.ts';

const found = await findBrowser();
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 812 } };
const shop = await startTestShop();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: shop.website } });

const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
});

async function previewOf(website: string, query: string): Promise<string> {
  const { body } = await service.client.post('/shopping/search', { website, query }, ada.key);
  return body.previewUrl;
}

describe.skipIf(found === undefined)(`in a browser${found === undefined ? ` (${noBrowser})` : ''}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    if (found !== undefined) browser = await launchBrowser(found);
  });
  afterAll(() => browser?.close());

  /** Opens a page and keeps account of everything that it should not do. */
  async function open(url: string, options: BrowserContextOptions) {
    const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
    const trouble: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) trouble.push(message.text());
    });
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('requestfailed', (request) => trouble.push(`${request.url()} failed`));
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(url, { waitUntil: 'networkidle' });
    return { page, trouble, requested };
  }

  it.each(
    Object.entries(sizes).flatMap(([size, viewport]) => [
      { size, viewport, colorScheme: 'light' as const },
      { size, viewport, colorScheme: 'dark' as const },
    ]),
  )(
    'the photos of a search are shown on a $size, $colorScheme, and nobody else is asked',
    async ({ viewport, colorScheme }) => {
      const { page, trouble, requested } = await open(await previewOf('demo-shop.example', 'mug'), {
        viewport,
        colorScheme,
      });
      expect(trouble).toEqual([]);
      expect(requested.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
      expect(await page.locator('.products li').count()).toBe(4);
      expect(await loadedPictures(page)).toEqual([400, 400, 400, 400]);
      const first = page.locator('.products li').first();
      expect(await first.locator('img').getAttribute('alt')).toBe('A drawing of Stoneware Mug, Sea');
      expect(await first.innerText()).toMatch(/Alder Pottery\s+Stoneware Mug, Sea\s+\$24\.00/);
      expect(await tooWide(page)).toEqual([]);
      const href = (await first.locator('a').getAttribute('href')) ?? '';
      await page.close();
      const opened = await open(href, { viewport, colorScheme });
      expect(opened.trouble).toEqual([]);
      expect(await opened.page.locator('h1').innerText()).toBe('Stoneware Mug, Sea');
      expect(await tooWide(opened.page)).toEqual([]);
      await opened.page.close();
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
    const { page, requested } = await open(await previewOf(shop.website, 'mug'), { viewport: sizes.phone });
    expect(await page.title()).toBe(`“mug” at ${shop.website}`);
    expect(requested.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
    expect(await page.locator('main script').count()).toBe(0);
    expect(await page.locator('.products img').count()).toBe(1);
    expect(await page.locator('.sold-out').count()).toBe(1);
    // The frame that stands in for a photo that is not there.
    expect(await loadedPictures(page)).not.toContain(0);
    expect(await tooWide(page)).toEqual([]);
    await page.close();
  });

  it('says so in a friendly way where there is nothing', async () => {
    const { page } = await open(`${service.url}/shopping/preview/nothing`, { viewport: sizes.phone });
    expect(await page.locator('h1').innerText()).toBe('There is nothing to see here');
    expect(await tooWide(page)).toEqual([]);
    await page.close();
    const empty = await open(await previewOf('demo-shop.example', 'xylophone'), { viewport: sizes.phone });
    expect(await empty.page.locator('main').innerText()).toContain('found nothing');
    expect(empty.trouble).toEqual([]);
    await empty.page.close();
  });

  it('the demo shop and the page about our robot fit a phone', async () => {
    const { body } = await service.client.get('/sandbox');
    for (const url of [
      body.demoShop.url,
      `${body.demoShop.url}/search?q=mug`,
      body.closedShop.url,
      `${service.url}/bot`,
    ]) {
      const { page, trouble } = await open(url, { viewport: sizes.phone });
      expect([url, trouble, await tooWide(page)]).toEqual([url, [], []]);
      await page.close();
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

/** What makes the page scroll sideways; code may be wider, because it scrolls inside itself. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    const root = document.documentElement;
    [...document.querySelectorAll('body *:not(pre *)'), ...(root.scrollWidth > innerWidth ? [root] : [])]
      .filter((element) => element === root || element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.outerHTML.slice(0, 100))
  `);
}
