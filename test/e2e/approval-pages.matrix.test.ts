import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { createKey, type TestKey } from '../support/key-tree.ts';
import { mug } from '../support/mug.ts';
import { describeInBrowser, inEveryLook, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

async function newAgent(owner: TestAccount): Promise<TestKey> {
  const agent = await createKey(service.client, owner.key);
  const body = {
    rules: [{ effect: 'ask' }],
    budgets: [{ id: 'daily', amount: 20, currency: 'USDC', window: 'day', onExceed: 'ask' }],
  };
  await service.client.request('PUT', `/account/keys/${agent.id}/policy`, { key: owner.key, body });
  return agent;
}

async function signIn(page: Page, { email, password }: TestAccount): Promise<void> {
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('main .button');
}

describeInBrowser('the pages of approvals', (open) => {
  inEveryLook('approve a purchase and deny one on a $size, $colorScheme', async ({ viewport, colorScheme }) => {
    const { client } = service;
    const owner = await client.register({ name: 'Ada' });
    const friend = await client.register({ name: 'Grace Hopper' });
    expect((await client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
    const agent = await newAgent(owner);
    const ask = async (path: string, body: object): Promise<string> =>
      (await client.post(path, body, agent.apiKey)).body.approvalId;
    const look = async () => {
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page, 'everything')).toEqual([]);
    };

    const order = await ask('/shopping/buy', { ...mug, note: 'You said you wanted a blue mug. <b>Trust me.</b>' });
    const { page, trouble, foreignTo } = await open(`${service.url}/approve/${order}`, { viewport, colorScheme });
    await signIn(page, owner);
    await page.waitForURL(`**/approve/${order}`);
    await look();
    const facts = await page.locator('main').innerText();
    for (const word of ['Stoneware Mug, Sea', 'demo-shop.example', '1 Main St', 'daily']) expect(facts).toContain(word);
    expect(facts.indexOf('demo-shop.example')).toBeLessThan(facts.indexOf('You said you wanted'));
    expect(await page.locator('blockquote b').count()).toBe(0);
    await page.click('button:has-text("Approve and pay")');
    await page.waitForSelector('h1:has-text("Approved")');
    await look();
    expect((await client.get(`/approvals/${order}`, agent.apiKey)).body).toMatchObject({
      status: 'executed',
      result: { status: 200, body: { success: true } },
    });

    const transfer = await ask('/agent/transfer', { to: friend.handle, amount: 8, currency: 'USDC' });
    await page.goto(`${service.url}/app/approvals`);
    await look();
    await page.click('main a:has-text("Grace Hopper")');
    await client.patch('/account', { name: 'Mallory' }, friend.key);
    await page.click('button:has-text("Approve and pay")');
    await page.waitForSelector('[role=alert]:has-text("Recipient")');
    await look();
    await page.click('button:has-text("Deny")');
    await page.waitForSelector('h1:has-text("Denied")');
    await look();
    expect((await client.get(`/approvals/${transfer}`, agent.apiKey)).body.status).toBe('denied');
    expect((await client.get('/circle/transfers', friend.key)).body.transfers).toEqual([]);

    await service.database.db.query("UPDATE owner_sessions SET proved_at = now() - interval '6 minutes'");
    const last = await ask('/agent/transfer', { to: friend.handle, amount: 7, currency: 'USDC' });
    await page.goto(`${service.url}/approve/${last}`);
    await page.click('text=Enter your password to approve');
    await page.fill('#password', owner.password);
    await page.click('main .button');
    await page.waitForURL(`**/approve/${last}`);
    await page.click('button:has-text("Approve and pay")');
    await page.waitForSelector('h1:has-text("Approved")');
    // Of the page that says what has changed.
    expect((await trouble()).filter((said) => !said.includes('409'))).toEqual([]);
    expect(await foreignTo(service.url)).toEqual([]);
  });
});
