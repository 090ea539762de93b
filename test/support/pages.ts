import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { findBrowser, launchBrowser } from './browser.ts';

export const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 812 } };

/** Every size in every colour, for `it.each(looks)('… on a $size, $colorScheme', ({ viewport, colorScheme }) => …)`. */
export const looks = Object.entries(sizes).flatMap(([size, viewport]) => [
  { size, viewport, colorScheme: 'light' as const },
  { size, viewport, colorScheme: 'dark' as const },
]);

/** A page in a window of its own, which is closed with the test. */
interface OpenedPage {
  readonly page: Page;
  /** Every address that it has asked for so far. */
  readonly requested: readonly string[];
  /** What it complained about, and what it was refused, by the time it has loaded everything. */
  trouble(): Promise<readonly string[]>;
  /** What it asked of anybody but this origin by the time it has loaded everything. */
  foreignTo(origin: string): Promise<readonly string[]>;
}

type OpenPage = (url: string, options: BrowserContextOptions) => Promise<OpenedPage>;

const found = await findBrowser();

/** Tests that look at pages in one browser, which is started once for the file. Where there is none, they are skipped. */
export function describeInBrowser(name: string, tests: (open: OpenPage) => void): void {
  describe(name, { tags: ['chromium'] }, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      if (found !== undefined) browser = await launchBrowser(found);
    });
    afterAll(() => browser?.close());

    tests((url, options) => {
      if (browser === undefined) throw new Error('the browser is not running yet');
      return openPage(browser, url, options);
    });
  });
}

async function openPage(browser: Browser, url: string, options: BrowserContextOptions): Promise<OpenedPage> {
  const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
  onTestFinished(() => page.close());
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
  await page.goto(url);
  return {
    page,
    requested,
    async trouble() {
      await page.waitForLoadState('networkidle');
      return trouble;
    },
    async foreignTo(origin) {
      await page.waitForLoadState('networkidle');
      return requested.filter((address) => new URL(address).origin !== origin);
    },
  };
}

/** What makes the page scroll sideways; code may be wider, because it scrolls inside itself. */
export async function tooWide(page: Page): Promise<string[]> {
  await page.waitForLoadState('networkidle');
  return page.evaluate<string[]>(`
    const root = document.documentElement;
    [...document.querySelectorAll('body *:not(pre *)'), ...(root.scrollWidth > innerWidth ? [root] : [])]
      .filter((element) => element === root || element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.outerHTML.slice(0, 100))
  `);
}

/** How light its background is: 0 is black, 765 is white. */
export async function brightness(page: Page): Promise<number> {
  const colour = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  return (colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, channel) => sum + Number(channel), 0);
}
