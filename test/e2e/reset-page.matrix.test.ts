import { expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { brightness, describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';
import { tokenIn } from '../support/verify-email.ts';

const said: string[] = [];
const service = useService({ say: (line) => said.push(line) });

/** The link from a mail, as the sandbox shows it on its console. */
async function askForLink({ email }: TestAccount): Promise<string> {
  await service.client.post('/account/password/reset', { email });
  const mail = () => said.find((line) => line.startsWith(`Mail to ${email}: Someone`));
  await expect.poll(mail).toBeDefined();
  expect(mail()).toContain(tokenIn(mail() ?? ''));
  return /^http\S+$/m.exec(mail() ?? '')?.[0] ?? '';
}

describeInBrowser('the page for a new password', (open) => {
  inEveryLook('fits a $size, $colorScheme, and tells nobody the token', async ({ viewport, colorScheme }) => {
    const link = await askForLink(await service.client.register());
    const { page, requested, trouble, foreignTo } = await open(link, { viewport, colorScheme });
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(service.url)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page, 'everything')).toEqual([]);
    // Out of the address, and in none that was asked for: behind the # it is sent to nobody.
    expect(page.url()).toBe(`${service.url}/reset-password`);
    const [, token = ''] = link.split('#');
    expect(requested.filter((url) => url.split('#')[0]?.includes(token))).toEqual([]);
    if (colorScheme === 'light') expect(await brightness(page)).toBeGreaterThan(600);
    else expect(await brightness(page)).toBeLessThan(150);
  });

  it('sets the password that is typed, says why it refuses one, and is good once', async () => {
    const owner = await service.client.register();
    const hook = { url: 'https://thief.example.com/hook', events: ['payment.received'] };
    await service.client.post('/webhooks', hook, owner.key);
    const link = await askForLink(owner);
    const { page } = await open(link, { viewport: sizes.phone });
    await page.fill('#password', 'iloveyou1');
    await page.check('#revoke');
    await page.click('button');
    await page.waitForSelector('#wrong:not(:empty)');
    expect(await page.locator('#wrong').innerText()).toContain('known data breaches');
    await page.fill('#password', 'a newer horse');
    await page.click('button');
    await page.waitForSelector('#done:not([hidden])');
    expect(await page.locator('#what').innerText()).toBe(
      `You can now sign in to your account ${owner.handle}. One API key is revoked. One webhook is still active and receiving your payment events: thief.example.com. You can close this page.`,
    );
    expect((await service.client.get('/account', owner.key)).status).toBe(401);
    const signedIn = await service.client.post('/agent/register', { email: owner.email, password: 'a newer horse' });
    expect(signedIn.status).toBe(200);

    const again = await open(link, { viewport: sizes.phone });
    await again.page.fill('#password', 'another horse');
    await again.page.click('button');
    await again.page.waitForSelector('#wrong:not(:empty)');
    expect(await again.page.locator('#wrong').innerText()).toContain('Request a new one');
  });

  it('says so where the link is not complete', async () => {
    const { page } = await open(`${service.url}/reset-password`, { viewport: sizes.phone });
    expect(await page.locator('h1:visible').innerText()).toBe('This link is incomplete');
    expect(await tooWide(page)).toEqual([]);
  });
});
