import { BlockList } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { features } from '../../src/app/features.ts';
import { systemClock } from '../../src/clock.ts';
import { defineRoute } from '../../src/http/define-route.ts';
import { describeRoutes } from '../../src/http/openapi-route.ts';
import { page as pageOf, pageQuery } from '../../src/http/paging.ts';
import { defineErrors } from '../../src/http/problem.ts';
import { createServer } from '../../src/http/server.ts';
import { createLogger } from '../../src/logger.ts';
import { createMemoryLimiter } from '../../src/rate-limit/memory-limiter.ts';
import { addPages } from '../../src/web/pages.ts';
import { findBrowser, launchBrowser, noBrowser } from '../support/browser.ts';

const found = await findBrowser();
const desktop = { width: 1280, height: 900 };
const phone = { width: 375, height: 812 };

const errors = defineErrors({
  a_code_that_is_quite_long_for_a_small_screen: { status: 409, title: 'In the way', detail: 'Wait, then try again.' },
});
const item = z.object({
  aFieldWithANameThatNoScreenOfThisWidthHasRoomForInOneLine: z.string().meta({ description: 'x'.repeat(200) }),
  inner: z.object({ deeper: z.array(z.object({ deepest: z.string().regex(/^[0-9a-f]{64}(?:-[0-9a-f]{64}){3}$/) })) }),
});
const address = `/sandbox/${'a-long-step/'.repeat(6)}:thingId` as const;

async function onlyDescribed(): Promise<never> {
  throw new Error('these routes are read about, not called');
}

/** Shaped like the real ones, and wider than they will ever be. */
const routes = [
  defineRoute(
    {
      id: 'createThing',
      method: 'POST',
      path: '/things',
      tag: 'Accounts',
      summary: 'Make a thing',
      auth: 'key',
      scope: 'pay',
      idempotent: true,
      body: z.strictObject({ name: z.string().max(20), kind: z.enum(['one', 'other']).optional() }),
      examples: { body: { name: 'n'.repeat(20), kind: 'one' } },
      returns: { 200: { description: 'Made', schema: z.object({ id: z.string() }), example: { id: 'i'.repeat(300) } } },
      errors: [errors.a_code_that_is_quite_long_for_a_small_screen],
    },
    onlyDescribed,
  ),
  defineRoute(
    {
      id: 'listThings',
      method: 'GET',
      path: address as `/${string}`,
      tag: 'Sandbox',
      summary: `Things of ${'w'.repeat(60)}`,
      description: `See https://pay.example/${'d'.repeat(200)} and \`${'c'.repeat(200)}\`.`,
      auth: 'none',
      params: z.strictObject({ thingId: z.string() }),
      query: pageQuery,
      returns: { 200: { description: 'Newest first', schema: pageOf('things', item), example: { things: [] } } },
    },
    onlyDescribed,
  ),
  // Its chapter has a picture of states.
  defineRoute(
    {
      id: 'followThing',
      method: 'GET',
      path: '/things/way',
      tag: 'Cross-chain',
      summary: 'Where a thing is',
      auth: 'none',
      returns: { 200: { description: 'It', schema: z.object({}), example: {} } },
    },
    onlyDescribed,
  ),
];

const chapters = features.flatMap((feature) => feature.chapters ?? []);

let app: FastifyInstance;
let origin: string;
let browser: Browser;

describe.skipIf(found === undefined)(`the pages in a browser${found === undefined ? ` (${noBrowser})` : ''}`, () => {
  beforeAll(async () => {
    const described = describeRoutes(routes, chapters, () => origin);
    app = createServer({
      config: { rateLimits: { free: 60, pro: 300, anonymous: 30 }, trustedProxies: new BlockList() },
      publicUrl: () => origin ?? '',
      routes: described.all,
      authenticate: () => undefined,
      limiter: createMemoryLimiter(systemClock),
      logger: createLogger('silent'),
      pages: (pages) => addPages(pages, { document: described.document, mode: 'sandbox', readiness: async () => [] }),
    });
    origin = await app.listen({ host: '127.0.0.1', port: 0 });
    if (found !== undefined) browser = await launchBrowser(found);
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  /** Opens a page and keeps account of everything that it should not do. */
  async function open(path: string, options: BrowserContextOptions) {
    const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
    const trouble: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) trouble.push(message.text());
    });
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('requestfailed', (request) => trouble.push(`${request.url()} failed`));
    page.on('response', (response) => {
      if (response.status() >= 400) trouble.push(`${response.url()} answered ${response.status()}`);
    });
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(`${origin}${path}`);
    return { page, trouble, requested };
  }

  describe.each(['/', '/docs'])('%s', (path) => {
    it.each([
      ['desktop', desktop],
      ['phone', phone],
    ])(
      'loads on a %s without a complaint, from its own origin alone, and does not scroll sideways',
      async (_, viewport) => {
        const { page, trouble, requested } = await open(path, { viewport });
        await page.waitForLoadState('networkidle');
        expect(await page.title()).toContain('Paywright');
        expect(trouble).toEqual([]);
        expect(requested.length).toBeGreaterThan(3);
        expect(requested.filter((url) => new URL(url).origin !== origin)).toEqual([]);
        expect(await tooWide(page)).toEqual([]);
        await page.close();
      },
    );

    it('is light or dark, as the reader likes it', async () => {
      const brightness = async (colorScheme: 'light' | 'dark') => {
        const { page } = await open(path, { viewport: desktop, colorScheme });
        const colour = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
        await page.close();
        return (colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, channel) => sum + Number(channel), 0);
      };
      expect(await brightness('light')).toBeGreaterThan(600);
      expect(await brightness('dark')).toBeLessThan(150);
    });
  });

  it('moves to a section from the navigation on a wide screen, and marks where the reader is', async () => {
    const { page } = await open('/docs', { viewport: desktop });
    const link = page.locator('#contents a[href="#createThing"]');
    await link.click();
    expect(new URL(page.url()).hash).toBe('#createThing');
    await expect.poll(() => topOf(page, '#createThing')).toBeLessThan(120);
    await expect.poll(() => link.getAttribute('aria-current')).toBe('true');
    expect(await page.locator('.menu').isVisible()).toBe(false);
    await page.close();
  });

  it('has its navigation in a menu on a phone, which closes once it has been used', async () => {
    const { page } = await open('/docs', { viewport: phone, hasTouch: true });
    const contents = page.locator('#contents');
    expect(await contents.isVisible()).toBe(false);
    await page.locator('.menu').tap();
    expect(await contents.isVisible()).toBe(true);
    await contents.locator('a[href="#listThings"]').tap();
    await expect.poll(() => topOf(page, '#listThings')).toBeLessThan(120);
    expect(await contents.isVisible()).toBe(false);
    await page.close();
  });

  it('can be read and navigated with scripts switched off', async () => {
    const { page, trouble } = await open('/docs', { viewport: phone, javaScriptEnabled: false });
    await page.locator('.menu').click();
    await page.locator('#contents a[href="#errors"]').click();
    expect(new URL(page.url()).hash).toBe('#errors');
    expect(await page.locator('.copy').count()).toBe(0);
    expect(trouble).toEqual([]);
    await page.close();
  });

  it('copies an example exactly', async () => {
    const { page } = await open('/docs', { viewport: desktop, permissions: ['clipboard-read', 'clipboard-write'] });
    const example = page.locator('#createThing .samples figure').first();
    await example.locator('.copy').click();
    await expect.poll(() => example.locator('.copy').textContent()).toBe('Copied');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe(await example.locator('code').textContent());
    expect(copied).toContain(`curl ${origin}/api/things`);
    await page.close();
  });

  it('explains an error at the address that the problem names', async () => {
    const reply = await fetch(`${origin}/api/nothing-here`);
    const { type, code } = (await reply.json()) as { type: string; code: string };
    expect(type).toBe(`${origin}/docs#error-${code}`);
    const { page } = await open(type.slice(origin.length), { viewport: phone });
    const target = page.locator('article:target');
    expect(await target.textContent()).toContain(code);
    expect(await topOf(page, 'article:target')).toBeLessThan(phone.height);
    await page.close();
  });
});

/** What makes the page scroll sideways; code may be wider, because it scrolls inside itself. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    const root = document.documentElement;
    [...document.querySelectorAll('body *:not(pre *)'), ...(root.scrollWidth > innerWidth ? [root] : [])]
      .filter((element) => element === root || element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.outerHTML.slice(0, 100))
  `);
}

function topOf(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().top`);
}
