import { BlockList } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { features } from '../../src/app/features.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { defineRoute } from '../../src/kernel/http/define-route.ts';
import { page as pageOf, pageQuery } from '../../src/kernel/http/list-route.ts';
import { closeServer } from '../../src/kernel/http/listen.ts';
import { describeRoutes } from '../../src/kernel/http/openapi-route.ts';
import { defineErrors } from '../../src/kernel/http/problem.ts';
import { createServer } from '../../src/kernel/http/server.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createMemoryLimiter } from '../../src/kernel/rate-limit/memory-limiter.ts';
import { createSecrets } from '../../src/kernel/secrets/secrets.ts';
import { addPages } from '../../src/web/pages.ts';
import { violations } from '../support/axe.ts';
import { oneOfMany } from '../support/matrix.ts';
import { brightness, describeInBrowser, inBothColours, sizes, tooWide } from '../support/pages.ts';

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

describeInBrowser('the pages in a browser', (openPage) => {
  beforeAll(async () => {
    const described = describeRoutes(routes, chapters, () => origin);
    app = createServer({
      config: {
        rateLimits: { free: 60, pro: 300, anonymous: 30, network: 120, pages: 600, address: 0 },
        trustedProxies: new BlockList(),
      },
      publicUrl: () => origin ?? '',
      routes: described.all,
      authenticate: () => undefined,
      limiter: createMemoryLimiter(systemClock),
      secrets: createSecrets('s'.repeat(32)),
      logger: createLogger('silent'),
      pages: (pages) => addPages(pages, { document: described.document, mode: 'sandbox', readiness: async () => [] }),
    });
    origin = await app.listen({ host: '127.0.0.1', port: 0 });
  });

  afterAll(async () => {
    // A browser opens connections ahead of its requests, and `app.close()` alone waits for those without an end.
    if (app !== undefined) await closeServer(app);
  });

  const open = (path: string, options: BrowserContextOptions) => openPage(`${origin}${path}`, options);

  describe.each(['/', '/docs'])('%s', (path) => {
    for (const [size, viewport] of Object.entries(sizes)) {
      it(
        `loads on a ${size} without a complaint, from its own origin alone, and does not scroll sideways`,
        oneOfMany({ isRepresentative: size === 'phone' }),
        async () => {
          const { page, trouble, foreignTo, requested } = await open(path, { viewport });
          expect(await trouble()).toEqual([]);
          expect(await foreignTo(origin)).toEqual([]);
          expect(await page.title()).toContain('Paywright');
          expect(requested.length).toBeGreaterThan(3);
          expect(await tooWide(page)).toEqual([]);
        },
      );
    }

    it('is light or dark, as the reader likes it', async () => {
      const light = await open(path, { viewport: sizes.desktop, colorScheme: 'light' });
      const dark = await open(path, { viewport: sizes.desktop, colorScheme: 'dark' });
      expect(await brightness(light.page)).toBeGreaterThan(600);
      expect(await brightness(dark.page)).toBeLessThan(150);
    });
  });

  inBothColours('the reference has nothing that axe would mend, $colorScheme', async ({ colorScheme, look }) => {
    const { page } = await open('/docs', { viewport: sizes.desktop, colorScheme });
    expect(await violations(page, look)).toEqual([]);
  });

  it('moves to a section from the navigation on a wide screen, and marks where the reader is', async () => {
    const { page } = await open('/docs', { viewport: sizes.desktop });
    const link = page.locator('#contents a[href="#createThing"]');
    await link.click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#createThing');
    await expect.poll(() => topOf(page, '#createThing')).toBeLessThan(120);
    await expect.poll(() => link.getAttribute('aria-current')).toBe('true');
    expect(await page.locator('.menu').isVisible()).toBe(false);
  });

  it('has its navigation in a menu on a phone, which closes once it has been used', async () => {
    const { page } = await open('/docs', { viewport: sizes.phone, hasTouch: true });
    const contents = page.locator('#contents');
    expect(await contents.isVisible()).toBe(false);
    await page.locator('.menu').tap();
    await expect.poll(() => contents.isVisible()).toBe(true);
    await contents.locator('a[href="#listThings"]').tap();
    await expect.poll(() => topOf(page, '#listThings')).toBeLessThan(120);
    await expect.poll(() => contents.isVisible()).toBe(false);
  });

  it('can be read and navigated with scripts switched off', async () => {
    const { page, trouble } = await open('/docs', { viewport: sizes.phone, javaScriptEnabled: false });
    await page.locator('.menu').click();
    await page.locator('#contents a[href="#errors"]').click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#errors');
    expect(await page.locator('.copy').count()).toBe(0);
    expect(await trouble()).toEqual([]);
  });

  it('copies an example exactly', async () => {
    const { page } = await open('/docs', {
      viewport: sizes.desktop,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const example = page.locator('#createThing .samples figure').first();
    // It says so for a moment only: whoever looks now and then may be too late.
    const said = page.evaluate<string>(`new Promise((resolve) => {
      const button = document.querySelector('#createThing .samples figure .copy');
      new MutationObserver(() => resolve(button.textContent)).observe(button, { childList: true });
    })`);
    await example.locator('.copy').click();
    expect(await said).toBe('Copied');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe(await example.locator('code').textContent());
    expect(copied).toContain(`curl ${origin}/api/things`);
  });

  it('explains an error at the address that the problem names', async () => {
    const reply = await fetch(`${origin}/api/nothing-here`);
    const { type, code } = (await reply.json()) as { type: string; code: string };
    expect(type).toBe(`${origin}/docs#error-${code}`);
    const { page } = await open(type.slice(origin.length), { viewport: sizes.phone });
    const target = page.locator('article:target');
    expect(await target.textContent()).toContain(code);
    await expect.poll(() => topOf(page, 'article:target')).toBeLessThan(sizes.phone.height);
  });
});

function topOf(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().top`);
}
