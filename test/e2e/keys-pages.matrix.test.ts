import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';

const service = useService();
const sentence = 'May spend 20 USDC a day; asks you above 5 USDC and before paying anyone new.';

async function signIn(page: Page, { email, password }: TestAccount): Promise<void> {
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('main .button');
  await page.waitForURL('**/app/keys');
}

/** Counts what a person clicks, fields to type into included. */
function clicker(page: Page) {
  const count = { clicks: 0 };
  const click = async (selector: string) => {
    count.clicks++;
    await page.click(selector);
  };
  return {
    count,
    click,
    async type(selector: string, text: string) {
      await click(selector);
      await page.keyboard.type(text);
    },
  };
}

describeInBrowser('the pages about keys', (open) => {
  inEveryLook('create, limit, show and freeze a key on a $size, $colorScheme', async ({ viewport, colorScheme }) => {
    const owner = await service.client.register({ name: 'Ada' });
    const friend = await service.client.register({ name: 'Grace' });
    const pay = (key: string, amount: number) =>
      service.client.post('/agent/transfer', { to: friend.handle, amount, currency: 'USDC' }, key);
    await service.client.post('/sandbox/fund', { amount: 100 }, owner.key);
    expect((await pay(owner.key, 1)).status).toBe(200);
    const { page, trouble, foreignTo } = await open(`${service.url}/app/keys`, { viewport, colorScheme });
    const look = async () => {
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page, 'everything')).toEqual([]);
    };
    await signIn(page, owner);
    await look();

    await page.click('text=Create a key');
    await look();
    await page.fill('#name', 'Shopping agent');
    await page.click('text=Create the key');
    const apiKey = await page.locator('.code code').innerText();
    expect(page.url()).not.toContain(apiKey);
    await look();

    await page.goto(`${service.url}/app/keys`);
    const { count, click, type } = clicker(page);
    await click('text=Shopping agent');
    await type('#day', '20');
    await type('#askAbove', '5');
    await click('text=Ask me before paying anyone new');
    await look();
    await click('text=Save');
    await page.waitForSelector(`text=${sentence}`);
    expect(count.clicks).toBeLessThanOrEqual(6);
    await look();

    expect((await pay(apiKey, 2.5)).status).toBe(200);
    expect((await pay(apiKey, 6)).body.status).toBe('approval_required');
    await page.click('text=All keys');
    expect(await page.locator('.keys').innerText()).toContain(sentence);
    expect(await page.locator('.budgets').innerText()).toContain('17.50 left');
    await look();

    await page.click('text=Shopping agent');
    await page.click('button:has-text("Freeze")');
    await page.waitForSelector('button:has-text("Unfreeze")');
    expect(await pay(apiKey, 1)).toMatchObject({ status: 403, body: { code: 'key_frozen' } });
    await page.click('text=Revoke this key for ever');
    await look();
    await page.click('button:text-is("Revoke")');
    await page.waitForURL('**/app/keys');
    expect((await pay(apiKey, 1)).status).toBe(401);
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(service.url)).toEqual([]);
  });

  it('say what is wrong beside the field, and show a policy of the API', async () => {
    const owner = await service.client.register();
    const { id } = (await service.client.post('/account/keys', { name: 'Agent' }, owner.key)).body;
    const hours = { from: '09:00', to: '17:00', days: ['mon'], timeZone: 'Europe/Berlin' };
    const body = { rules: [{ effect: 'allow', operation: ['call'], amount: { lte: 3 }, hours }] };
    await service.client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
    const { page } = await open(`${service.url}/app/keys`, { viewport: sizes.phone });
    await signIn(page, owner);
    await page.goto(`${service.url}/app/keys/${id}`);
    await page.click('text=The policy as JSON');
    expect(await page.locator('.code').innerText()).toContain('"Europe/Berlin"');
    await page.fill('#day', 'much');
    await page.click('text=Save');
    await page.waitForSelector('#day-note:has-text("This must be a decimal number")');
    expect(await page.inputValue('#day')).toBe('much');
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page, 'everything')).toEqual([]);
  });

  it('need no script, and a reload creates no second key', async () => {
    const owner = await service.client.register();
    const { page } = await open(`${service.url}/app/keys`, { viewport: sizes.desktop, javaScriptEnabled: false });
    await signIn(page, owner);
    await page.click('text=Create a key');
    await page.fill('#name', 'Agent');
    await page.click('text=Create the key');
    expect(await page.locator('.code code').innerText()).toMatch(/^pa_live_/);
    await page.reload();
    expect(await page.locator('h1').innerText()).toBe('This key was created already');
    expect((await service.client.get('/account/keys', owner.key)).body.keys).toHaveLength(2);
    await page.click('text=open the key');
    await page.fill('#week', '70');
    await page.click('text=Save');
    await page.waitForSelector('text=May spend 70 USDC a week.');
  });
});
