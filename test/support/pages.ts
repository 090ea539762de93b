import type { Browser, BrowserContextOptions, ConsoleMessage, Page, Request, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest';
import { findBrowser, launchBrowser } from './browser.ts';
import { until } from './until.ts';

export const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 812 } };

interface Look {
  readonly size: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}

/** Every size in every colour. */
const looks: readonly Look[] = Object.entries(sizes).flatMap(([size, viewport]) => [
  { size, viewport, colorScheme: 'light' },
  { size, viewport, colorScheme: 'dark' },
]);

/** The least room, and the colours that a style sheet forgets first. */
const isRepresentative = ({ size, colorScheme }: Look) => size === 'phone' && colorScheme === 'dark';

/** A test in every look: `inEveryLook('… on a $size, $colorScheme', async ({ viewport, colorScheme }) => …)`. */
export function inEveryLook(name: string, test: (look: Look) => Promise<void>): void {
  it.each(looks.filter(isRepresentative))(name, test);
  it.each(looks.filter((look) => !isRepresentative(look)))(name, { tags: ['matrix'] }, test);
}

/** A test with axe: of all rules in light colours, and of those about colours in dark ones. */
export function inBothColours(
  name: string,
  test: (look: { readonly colorScheme: 'light' | 'dark'; readonly look: 'everything' | 'colours' }) => Promise<void>,
): void {
  it.each([{ colorScheme: 'light', look: 'everything' }] as const)(name, test);
  it.each([{ colorScheme: 'dark', look: 'colours' }] as const)(name, { tags: ['matrix'] }, test);
}

/** A page in a window that no other test uses at the same time. */
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
    let windows: Windows | undefined;
    beforeAll(async () => {
      if (found === undefined) return;
      browser = await launchBrowser(found);
      windows = createWindows(browser);
    });
    afterAll(() => browser?.close());

    tests((url, options) => {
      if (windows === undefined) throw new Error('the browser is not running yet');
      return openPage(windows, url, options);
    });
  });
}

interface Windows {
  /** A window that looks as these options say. */
  take(options: BrowserContextOptions): Promise<Page>;
  giveBack(page: Page): Promise<void>;
}

/**
 * A new window costs the browser a second of computing. Size and colours can be changed later, so a window that needs
 * nothing else is emptied after its test and used again.
 */
function createWindows(browser: Browser): Windows {
  const free: Page[] = [];
  const shared = new Set<Page>();
  return {
    async take({ viewport, colorScheme = 'light', ...special }) {
      if (Object.keys(special).length > 0) {
        return browser.newPage({ reducedMotion: 'reduce', viewport: viewport ?? null, colorScheme, ...special });
      }
      const page = free.pop() ?? (await browser.newPage({ reducedMotion: 'reduce' }));
      shared.add(page);
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport ?? sizes.desktop);
      return page;
    },
    async giveBack(page) {
      if (!shared.has(page)) return page.close();
      await page.goto('about:blank');
      await page.context().clearPermissions();
      await page.context().clearCookies();
      free.push(page);
    },
  };
}

/** Two of them: the first begins with what is there already, and the second after that is drawn. */
const nextFrame = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';

async function openPage(windows: Windows, url: string, options: BrowserContextOptions): Promise<OpenedPage> {
  const page = await windows.take(options);
  onTestFinished(async () => {
    for (const [event, listener] of Object.entries(listeners)) page.off(event as 'request', listener as () => void);
    await windows.giveBack(page);
  });
  const trouble: string[] = [];
  const requested: string[] = [];
  const underWay = new Set<Request>();
  const listeners = {
    console(message: ConsoleMessage) {
      if (['error', 'warning'].includes(message.type())) trouble.push(message.text());
    },
    pageerror: (error: Error) => trouble.push(error.message),
    request(request: Request) {
      requested.push(request.url());
      underWay.add(request);
    },
    requestfinished: (request: Request) => underWay.delete(request),
    requestfailed(request: Request) {
      underWay.delete(request);
      trouble.push(`${request.url()} failed`);
    },
    response(response: Response) {
      if (response.status() >= 400) trouble.push(`${response.url()} answered ${response.status()}`);
    },
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event as 'request', listener as () => void);
  await page.goto(url);

  /** Its scripts have run, it is painted, and all that it has asked for until then has been answered. */
  async function loaded(): Promise<void> {
    await page.waitForLoadState();
    if (options.javaScriptEnabled !== false) await page.evaluate(nextFrame);
    await until('everything to be loaded', async () => underWay.size === 0);
  }

  return {
    page,
    requested,
    async trouble() {
      await loaded();
      return trouble;
    },
    async foreignTo(origin) {
      await loaded();
      return requested.filter((address) => new URL(address).origin !== origin);
    },
  };
}

/** What makes the page scroll sideways; code may be wider, because it scrolls inside itself. */
export async function tooWide(page: Page): Promise<string[]> {
  await page.waitForLoadState();
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
