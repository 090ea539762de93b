import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { addressOf, askForLink, endLink, payFromWallet, type TestLink } from '../support/funding.ts';
import { brightness, describeInBrowser, inBothColours, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService();
const { db } = service.database;

const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register({ name: 'Ada' });
});

const ask = (amount = 25, account = ada) => askForLink(service.client, account, amount);
const balance = async ({ key }: TestAccount) => (await service.client.get('/circle/balance', key)).body.USDC;
const newUser = (name = 'Grace') => service.client.register({ name });
const pay = async (account: TestAccount, amount: number) =>
  payFromWallet(service.client, { to: await addressOf(service.client, account), amount });
const statusOf = async (account: TestAccount, { id }: TestLink) =>
  (await service.client.get(`/circle/buy-sessions/${id}`, account.key)).body.status;

describe('a token', () => {
  it('that was cut, changed, repeated or is far too long opens nothing', async () => {
    const { token, url } = await ask();
    const changed = token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    for (const query of [
      '',
      '?token=',
      `?token=${token.slice(0, -1)}`,
      `?token=${token}x`,
      `?token=${changed}`,
      `?token=${token}&token=${token}`,
      `?token=${token}&token=${changed}`,
      `?token=${'A'.repeat(10_000)}`,
      '?token=%00',
      '?token=%zz',
      "?token='--",
      `?tokens=${token}`,
    ]) {
      for (const path of ['/buy', '/buy/events', '/buy/card/sandbox']) {
        const reply = await fetch(`${service.url}${path}${query}`, { redirect: 'manual' });
        expect([path, query.slice(0, 60), reply.status]).toEqual([path, query.slice(0, 60), 404]);
        const page = await reply.text();
        expect(page).toContain('Link not found');
        expect(page).not.toMatch(/Ada|\bat .*\.[jt]s:\d+|node_modules/);
      }
    }
    expect((await fetch(url)).status).toBe(200);
  });

  it('is kept from caches, search engines and other sites', async () => {
    const { url } = await ask();
    const { headers } = await fetch(url);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(headers.get('ratelimit')).toBeNull();
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; style-src 'self'; script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
  });

  it('cannot be used again: the page of a paid link says that it was paid, and how much', async () => {
    const grace = await newUser();
    const link = await ask(5, grace);
    await pay(grace, 7.5);
    await expect.poll(() => statusOf(grace, link)).toBe('completed');
    const reply = await fetch(link.url);
    const page = await reply.text();
    expect(reply.status).toBe(200);
    expect(page).toContain('7.50 USDC was added');
    expect(page).toContain('had asked for 5.00');
    expect(page).not.toContain(await addressOf(service.client, grace));
    const again = await fetch(`${service.url}/buy/card/sandbox?token=${link.token}`, { redirect: 'manual' });
    expect(again.headers.get('location')).toBe(`/buy?token=${link.token}`);
  });
});

describe('the sandbox’s card company', () => {
  /** As one click does: answers the address of the company's page. */
  async function begin({ token }: TestLink): Promise<string> {
    const reply = await fetch(`${service.url}/buy/card/sandbox?token=${token}`, { redirect: 'manual' });
    return `${service.url}${reply.headers.get('location')}`;
  }
  const press = (address: string, outcome: string) =>
    fetch(`${address}/${outcome}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      redirect: 'manual',
    });

  it('pays with its first button and refuses with the others, each for its reason', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    const company = await begin(link);
    const buttons = [...(await (await fetch(company)).text()).matchAll(/action="[^"]+\/([\w-]+)"/g)].map(
      ([, name]) => name,
    );
    expect(buttons).toEqual(['pay', 'decline', 'no-money', 'not-verified']);
    for (const refusal of buttons.slice(1)) {
      const reply = await press(company, refusal ?? '');
      expect([reply.status, reply.headers.get('location')]).toEqual([303, '/buy/return']);
    }
    const { card } = (await service.client.get(`/circle/buy-sessions/${link.id}`, grace.key)).body;
    expect(card).toEqual({
      provider: 'sandbox',
      status: 'failed',
      reason: 'the bank could not verify that it was you',
    });
    expect(await (await fetch(link.url)).text()).toContain(card.reason);
    expect(await balance(grace)).toBe('0');
  });

  it('pays once for each session, and all that it pays is credited', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    const [one, other] = [await begin(link), await begin(link)];
    // The same button twice at once, and then a second tab.
    await Promise.all([press(one, 'pay'), press(one, 'pay')]);
    await expect.poll(() => balance(grace)).toBe('25');
    await press(other, 'pay');
    await expect.poll(() => balance(grace)).toBe('50');
    expect(await statusOf(grace, link)).toBe('completed');
  });

  it('knows nothing of a session that it has not begun', async () => {
    const company = await begin(await ask());
    for (const wrong of [`${company}x`, `${service.url}/sandbox/on-ramp/x`, company.replace(/.{4}$/, 'AAAA')]) {
      expect((await fetch(wrong)).status).toBe(404);
      expect((await press(wrong, 'pay')).status).toBe(404);
    }
    expect((await press(company, 'constructor')).status).toBe(404);
  });
});

it('the front page has a first payment in three commands that work when pasted, and again', async () => {
  const page = await (await fetch(`${service.url}/`)).text();
  expect(page).toContain('<p class="running">Running</p>');
  const commands = [...page.matchAll(/<pre tabindex="0"><code[^>]*>(.*?)<\/code>/gs)].map(([, code = '']) =>
    plainText(code),
  );
  expect(commands).toHaveLength(3);
  for (let times = 0; times < 2; times++) {
    const { stdout: output } = await promisify(execFile)('bash', ['-c', commands.join('\n')]);
    expect(output).toContain('"amount":10');
    expect(output).toContain('"status":"complete"');
    expect(output).toContain('"recipientAmount":2.46');
  }
});

describeInBrowser('in a browser', (open) => {
  /** Follows what a page does from now on, and complains about what it should not do. */
  async function openLink(link: TestLink, options = { viewport: sizes.phone } as Parameters<typeof open>[1]) {
    const opened = await open(link.url, options);
    await opened.page.locator('.left', { hasText: 'left' }).waitFor();
    return opened;
  }

  inEveryLook('a link fits a $size, $colorScheme, whatever its owner is called', async (look) => {
    const stranger = await newUser(`${'Wolfeschlegelsteinhausen'.repeat(4)}${hostile}`);
    const link = await ask(99_999.123456, stranger);
    const { page, requested } = await openLink(link, look);
    expect(await page.title()).toContain('Add 99,999.123456 USDC for Wolfeschlegel');
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await tooWide(page)).toEqual([]);
    expect(await page.locator('svg.qr').boundingBox()).toMatchObject({ width: expect.any(Number) });
    expect(requested.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
    if (look.colorScheme === 'light') expect(await brightness(page)).toBeGreaterThan(600);
    else expect(await brightness(page)).toBeLessThan(150);
  });

  it('a page that gets no stream, because too many are open, shows the payment all the same', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    for (let stream = 0; stream < 8; stream++) {
      const request = get(`${service.url}/buy/events?token=${link.token}`, { agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      onTestFinished(() => void response.on('error', () => {}).destroy());
      expect(response.resume().statusCode).toBe(200);
    }
    const { page, trouble } = await openLink(link);
    await until('the stream to be refused', async () =>
      (await trouble()).some((said) => said.includes('answered 429')),
    );
    await pay(grace, 25);
    await page.getByRole('heading', { name: '25.00 USDC was added' }).waitFor();
    expect(await page.title()).toBe('25.00 USDC was added');
  });

  it('from the link to the balance by card, with one click each', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    const { page, requested } = await openLink(link);
    const complaints = complaintsOf(page);
    await page.getByRole('link', { name: 'Pay by card' }).click();
    await page.waitForURL(/\/sandbox\/on-ramp\//);
    expect(new URL(page.url()).origin).toBe(service.url);
    expect(page.url()).not.toContain(link.token);
    expect(await page.locator('main').innerText()).toContain(await addressOf(service.client, grace));
    expect(await tooWide(page)).toEqual([]);
    await page.locator('main button').first().click();
    await page.waitForURL((url) => url.pathname === '/buy');
    await page.getByRole('heading', { name: '25.00 USDC was added' }).waitFor();
    expect(await balance(grace)).toBe('25');
    expect(await page.title()).toBe('25.00 USDC was added');
    expect(requested.filter((url) => new URL(url).origin !== service.url)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('from the link to the balance by wallet, without loading the page again, in two tabs', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    const [first, second] = [await openLink(link), await openLink(link, { viewport: sizes.desktop })];
    const complaints = [...complaintsOf(first.page), ...complaintsOf(second.page)];
    expect(await first.page.locator('.steps [aria-current]').innerText()).toBe('Waiting');
    const address = (await first.page.locator('.address code').innerText()) as `0x${string}`;
    const loads = first.requested.length;
    // Less than was asked for is credited, but is not this link's: who was given the link does not learn of it.
    await payFromWallet(service.client, { to: address, amount: 4 });
    await expect.poll(() => balance(grace)).toBe('4');
    for (const { page } of [first, second]) {
      expect(await page.locator('.warning').innerText()).toContain('a payment of less than 25 USDC is added');
      expect(await page.locator('.address').count()).toBe(1);
      expect(await page.locator('main').innerText()).not.toMatch(/\b4(\.00)? USDC/);
    }
    await payFromWallet(service.client, { to: address, amount: 25 });
    for (const { page } of [first, second]) {
      await page.getByRole('heading', { name: '25.00 USDC was added' }).waitFor();
      expect(await page.locator('main').innerText()).not.toMatch(/\b4(\.00)? USDC/);
      expect(await page.getByRole('status').innerText()).toContain('was added to the balance of Grace');
    }
    expect(await balance(grace)).toBe('29');
    expect(first.requested.length).toBe(loads);
    expect(complaints).toEqual([]);
    // Whoever loads it again finds it used up.
    const reply = await first.page.reload();
    expect(reply?.status()).toBe(200);
  });

  it('the QR code and the buttons hold exactly what is to be sent', async () => {
    const grace = await newUser();
    const { page } = await openLink(await ask(12.5, grace));
    const address = await addressOf(service.client, grace);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await noteWhatIsSaid(page, '[aria-label="Copy the address"]');
    await page.getByRole('button', { name: 'Copy the address' }).click();
    expect(await page.evaluate('said')).toBe('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);
    expect(await page.getByRole('link', { name: 'open a wallet on this phone' }).getAttribute('href')).toMatch(
      new RegExp(
        `^ethereum:0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359@137/transfer\\?address=${address}&uint256=12500000$`,
      ),
    );
  });

  it('a refusal of the card says why, and another try may succeed', async () => {
    const grace = await newUser();
    const { page } = await openLink(await ask(25, grace));
    await page.getByRole('link', { name: 'Pay by card' }).click();
    await page.getByRole('button', { name: 'Card declined' }).click();
    const said = 'was refused: the card was declined by its bank. Nothing was charged.';
    await page.locator('.progress', { hasText: said }).waitFor();
    expect(await page.locator('.address').count()).toBe(1);
    expect(await balance(grace)).toBe('0');
    await page.getByRole('link', { name: 'Pay by card' }).click();
    await page.locator('main button').first().click();
    await page.getByRole('heading', { name: '25.00 USDC was added' }).waitFor();
    expect(await balance(grace)).toBe('25');
  });

  it('a link that runs out while its page is open says so, and what to do', async () => {
    const link = await ask();
    const { page, requested } = await openLink(link);
    const loads = requested.length;
    await endLink(db, link.id);
    await page.getByRole('heading', { name: 'This link has expired' }).waitFor();
    expect(await page.locator('main').innerText()).toContain('ask for a new link');
    expect(await page.locator('.address, .button').count()).toBe(0);
    expect(requested.length).toBe(loads);
  });

  it('works without scripts: the address, the amount, the card, and loading it again', async () => {
    const grace = await newUser();
    const link = await ask(25, grace);
    const { page } = await open(link.url, { viewport: sizes.phone, javaScriptEnabled: false });
    const text = await page.locator('main').innerText();
    expect(text).toContain(await addressOf(service.client, grace));
    expect(text).toContain('reload it');
    expect(await page.getByRole('button').count()).toBe(0);
    await pay(grace, 25);
    await expect.poll(() => statusOf(grace, link)).toBe('completed');
    await page.getByRole('link', { name: 'reload it' }).click();
    await page.getByRole('heading', { name: '25.00 USDC was added' }).waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await openLink(await ask());
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the content');
    const reached: string[] = [];
    for (let presses = 0; presses < 8; presses++) {
      await page.keyboard.press('Tab');
      reached.push(await focused(page));
    }
    expect(reached).toEqual(expect.arrayContaining(['Pay by card', 'Copy', 'open a wallet on this phone']));
  });

  describe('every page', () => {
    const addresses: string[] = [];
    beforeAll(async () => {
      const grace = await newUser();
      const shop = { website: 'demo-shop.example', query: 'mug' };
      // One that does not answer in time, because the machine is busy, is asked again, as an agent does.
      const searched = async (): Promise<string | undefined> =>
        (await service.client.post('/shopping/search', shop, ada.key)).body.previewUrl;
      const terms = { toHandle: grace.handle, amount: 5, currency: 'USDC', description: 'Research' };
      const [waiting, over, done] = [await ask(), await ask(), await ask(2, grace)];
      await pay(grace, 2);
      await until('the deposit', async () => (await statusOf(grace, done)) === 'completed');
      await endLink(db, over.id);
      const card = await fetch(`${service.url}/buy/card/sandbox?token=${waiting.token}`, { redirect: 'manual' });
      const paths = ['/', '/docs', '/bot', '/buy/return', '/buy?token=x', '/invoice/x', '/shopping/preview/x'];
      addresses.push(
        ...[...paths, '/sandbox/on-ramp/x', card.headers.get('location')].map((path) => `${service.url}${path}`),
        await until('the shop to be searched', searched),
        (await service.client.post('/invoices', terms, ada.key)).body.pageUrl,
        ...[waiting.url, over.url, done.url],
      );
    });

    inBothColours('has nothing that axe would mend, $colorScheme', async ({ colorScheme, look }) => {
      const { page } = await open(`${service.url}/bot`, { viewport: sizes.phone, colorScheme });
      for (const address of addresses) {
        // The reference is looked at in a file of its own: all of it takes axe minutes.
        if (address.endsWith('/docs')) continue;
        await page.goto(address);
        expect([address, await violations(page, look)]).toEqual([address, []]);
      }
    });

    it('weighs less than 60 KB with everything that it loads, and the reference less than 75', async () => {
      for (const address of addresses) {
        const bytes = await transferred(address);
        const most = address.endsWith('/docs') ? 75_000 : 60_000;
        expect([address, bytes, bytes < most]).toEqual([address, bytes, true]);
      }
    });
  });
});

/** What a page and everything that it loads weigh on the wire. */
async function transferred(address: string): Promise<number> {
  const page = await (await fetch(address)).text();
  const own = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => `${service.url}${path}`);
  const sizes = await Promise.all([address, ...new Set(own)].map(sizeOnWire));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** As a browser asks, and not unpacked again. */
async function sizeOnWire(url: string): Promise<number> {
  const request = get(url, { headers: { 'accept-encoding': 'gzip, deflate, br' } });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  let size = 0;
  for await (const chunk of answer) size += (chunk as Buffer).length;
  return size;
}

function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}

/** `said` becomes the next words of an element: a button says that it has copied for a moment only, perhaps while nobody looks. */
async function noteWhatIsSaid(page: Page, selector: string): Promise<void> {
  await page.evaluate(`
    const element = document.querySelector(${JSON.stringify(selector)});
    window.said = new Promise((resolve) => {
      new MutationObserver(() => resolve(element.innerText)).observe(element, { childList: true });
    });
    undefined;
  `);
}

function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement?.textContent.trim() ?? ""');
}

function plainText(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
