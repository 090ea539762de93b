import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';

const service = useService();

async function signIn(page: Page, { email, password }: TestAccount): Promise<void> {
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('main .button');
}

describeInBrowser('the pages of the owner', (open) => {
  inEveryLook('fit a $size, $colorScheme, and are accessible', async ({ viewport, colorScheme }) => {
    const owner = await service.client.register({ name: 'Ada' });
    const friend = await service.client.register({ name: 'Grace' });
    await service.client.post('/sandbox/fund', { amount: 100 }, owner.key);
    await service.client.post(
      '/agent/transfer',
      { to: friend.handle, amount: 12.5, currency: 'USDC', description: 'Lunch' },
      owner.key,
    );
    const { page, trouble, foreignTo } = await open(`${service.url}/app/devices`, { viewport, colorScheme });
    const look = async () => {
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page, 'everything')).toEqual([]);
    };
    await look();
    await signIn(page, owner);
    await page.waitForURL('**/app/devices');
    await look();
    await page.click('nav >> text=Overview');
    await page.waitForURL('**/app');
    expect(await page.locator('.balances').innerText()).toContain('87.5');
    expect(await page.locator('.lines').innerText()).toContain('Grace');
    await look();
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(service.url)).toEqual([]);
  });

  it('say what is wrong, keep the email, and sign out everywhere', async () => {
    const owner = await service.client.register();
    const { page } = await open(`${service.url}/sign-in`, { viewport: sizes.phone });
    await signIn(page, { ...owner, password: 'wrong horse' });
    await page.waitForSelector('#wrong:not(:empty)');
    expect(await page.inputValue('#email')).toBe(owner.email);
    expect(await violations(page, 'everything')).toEqual([]);
    await signIn(page, owner);
    await page.waitForURL('**/app');
    await page.goto(`${service.url}/sign-in`);
    expect(page.url()).toBe(`${service.url}/app`);
    await page.click('nav >> text=Devices');
    await page.click('text=Sign out everywhere');
    await page.waitForURL('**/sign-in');
    await page.goto(`${service.url}/app`);
    expect(page.url()).toBe(`${service.url}/sign-in?next=%2Fapp`);
  });

  it('cannot be framed, nor their forms sent by another site', async () => {
    const owner = await service.client.register();
    const { page } = await open(`${service.url}/sign-in`, { viewport: sizes.desktop });
    await signIn(page, owner);
    await page.waitForURL('**/app');
    // Another origin on this machine: the same browser, with the cookie.
    const evil = service.url.replace('127.0.0.1', 'localhost');
    await page.route(`${evil}/evil`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${service.url}/app"></iframe>
<form method="post" action="${service.url}/sign-out"><input name="from" value="everywhere"><button>Win</button></form>`,
      }),
    );
    await page.goto(`${evil}/evil`);
    expect(page.frames().map((frame) => frame.url())).not.toContain(`${service.url}/app`);
    await page.click('text=Win');
    await page.waitForLoadState();
    expect(await page.locator('h1').innerText()).toBe('Form refused');
    await page.goto(`${service.url}/app`);
    expect(page.url()).toBe(`${service.url}/app`);
  });
});
