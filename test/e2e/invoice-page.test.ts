import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser, launchBrowser, noBrowser } from '../support/browser.ts';
import type { TestAccount } from '../support/client.ts';
import { useInvoices } from '../support/invoices.ts';
import { useService } from '../support/service.ts';

const found = await findBrowser();
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 812 } };

const service = useService();
const { funded, ask, pay, cancel } = useInvoices(() => service.client);

const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
let payer: TestAccount;
let sender: TestAccount;
beforeAll(async () => {
  payer = await funded(100);
  sender = await service.client.register({ name: `${'Wolfeschlegelsteinhausen'.repeat(4)}${hostile}` });
});

describe('the page of an invoice', () => {
  it('is there for whoever has its address, without a key, and tells nothing else', async () => {
    const email = 'somebody-quiet@example.com';
    const { body } = await ask(sender, { toEmail: email }, { description: 'Research' });
    const page = await (await fetch(body.pageUrl)).text();
    expect(page).toContain('Research');
    expect(page).toContain(sender.handle);
    for (const secret of [email, sender.email, payer.handle, 'example.com', 'recipient']) {
      expect(page.toLowerCase()).not.toContain(secret.toLowerCase());
    }
    const byHandle = (await ask(sender, { toHandle: payer.handle }, { amount: 1 })).body;
    const paid = (await pay(payer, byHandle.id)).body;
    const after = await (await fetch(byHandle.pageUrl)).text();
    expect(after).toContain('Paid');
    for (const secret of [payer.handle, payer.email, paid.transferId]) expect(after).not.toContain(secret);
  });

  it('is not found by the id of the invoice, nor by anything else', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle });
    const token = body.pageUrl.split('/').at(-1);
    const turned = token.replace(/[a-z]/i, (letter: string) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    for (const wrong of [body.id, turned, token.slice(1), `${token}0`, '%00', "'--", 'x'.repeat(400), '..%2f']) {
      const reply = await fetch(`${service.url}/invoice/${wrong}`);
      expect([wrong, reply.status]).toEqual([wrong, 404]);
      expect(await reply.text()).not.toContain(sender.handle);
    }
    expect((await fetch(body.pageUrl, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(body.pageUrl, { method: 'POST' })).status).toBe(404);
  });

  it('is not counted against anybody’s limit of requests', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle });
    expect((await fetch(body.pageUrl)).headers.get('ratelimit')).toBeNull();
  });
});

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
  )('fits a $size, $colorScheme, whatever a stranger writes into it', async ({ viewport, colorScheme }) => {
    const { body } = await ask(
      sender,
      { toHandle: payer.handle },
      {
        amount: 123_456_789.123456,
        description: `${'x'.repeat(200)} ${hostile} ${'word '.repeat(30)}`,
        dueAt: '2099-09-30T23:59:59Z',
      },
    );
    const { page, trouble, requested } = await open(body.pageUrl, { viewport, colorScheme });
    expect(trouble).toEqual([]);
    expect(requested.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
    expect(await page.title()).toContain('123,456,789.123456 USDC for Wolfeschlegel');
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.locator('.amount').innerText()).toMatch(/^123,456,789\.123456\s+USDC$/);
    expect(await page.locator('.what').innerText()).toContain(hostile);
    expect(await tooWide(page)).toEqual([]);
    const code = await page.locator('svg.qr').boundingBox();
    expect(code?.width).toBeGreaterThan(150);
    expect(code?.width).toBeCloseTo(code?.height ?? 0, 0);
    const shade = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const brightness = (shade.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, channel) => sum + Number(channel), 0);
    if (colorScheme === 'light') expect(brightness).toBeGreaterThan(600);
    else expect(brightness).toBeLessThan(150);
    await page.close();
  });

  it('shows what has become of it when it is looked at again', async () => {
    const open1 = async (end: (id: string) => Promise<unknown>) => {
      const { body } = await ask(sender, { toHandle: payer.handle }, { amount: 1 });
      const { page } = await open(body.pageUrl, { viewport: sizes.phone });
      const before = await page.locator('.status').innerText();
      const payable = await page.locator('figure.code').count();
      await end(body.id);
      await page.reload();
      const after = await page.locator('.status').innerText();
      const stillPayable = await page.locator('figure.code').count();
      await page.close();
      return [before, payable, after, stillPayable];
    };
    expect(await open1((id) => pay(payer, id))).toEqual(['Waiting for payment', 1, 'Paid', 0]);
    expect(await open1((id) => cancel(sender, id))).toEqual(['Waiting for payment', 1, 'Cancelled', 0]);
  });

  it('gives a command that pays it', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle }, { amount: 1 });
    const { page } = await open(body.pageUrl, { viewport: sizes.desktop, javaScriptEnabled: false });
    const command = await page.locator('figure.code code').innerText();
    await page.close();
    const [, address = ''] = /^curl -X POST (\S+) /.exec(command) ?? [];
    const [, key = ''] = /Idempotency-Key: (\S+)"/.exec(command) ?? [];
    const send = () =>
      fetch(address, { method: 'POST', headers: { authorization: `Bearer ${payer.key}`, 'idempotency-key': key } });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await second.json()).toEqual(await first.json());
  });

  it('says so in a friendly way where there is none', async () => {
    const { page } = await open(`${service.url}/invoice/nothing`, { viewport: sizes.phone });
    expect(await page.locator('h1').innerText()).toBe('There is no invoice here');
    expect(await tooWide(page)).toEqual([]);
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
