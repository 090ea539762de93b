import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { stepAt, totpCode } from '../../src/accounts/second-factor/totp.ts';
import { violations } from '../support/axe.ts';
import type { TestAccount } from '../support/client.ts';
import { describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { fromBase32 } from '../support/second-factor.ts';
import { useService } from '../support/service.ts';

const service = useService();
/** Browsers know passkeys on pages with a host name only. */
const url = () => service.url.replace('127.0.0.1', 'localhost');

async function signIn(page: Page, { email, password }: TestAccount): Promise<void> {
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('main form:has(#password) .button');
}

/** A device with a fingerprint reader, whose owner always touches it. */
async function plugIn(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  onTestFinished(async () => {
    await session.send('WebAuthn.disable');
    await session.detach();
  });
}

const forgetProof = ({ email }: TestAccount) =>
  service.database.db.query(
    'UPDATE owner_sessions SET proved_at = NULL WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
    [email],
  );

describeInBrowser('the second factor', (open) => {
  inEveryLook('fits a $size, $colorScheme, and is accessible at each step', async ({ viewport, colorScheme }) => {
    const owner = await service.client.register({ name: 'Ada' });
    const { page, trouble, foreignTo } = await open(`${url()}/sign-in?next=%2Fapp%2Fsecurity`, {
      viewport,
      colorScheme,
    });
    await plugIn(page);
    const look = async () => {
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page, 'everything')).toEqual([]);
    };
    await page.waitForSelector('text=Sign in with a passkey');
    await look();
    await signIn(page, owner);
    await page.waitForURL('**/app/security');
    await look();

    await page.click('text=Set up an app');
    await page.waitForSelector('.qr');
    await look();
    const secret = fromBase32((await page.locator('.secret').innerText()).replaceAll(' ', ''));
    const code = (later: number) => totpCode(secret, stepAt(Date.now()) + BigInt(later));
    await page.fill('#code', code(0));
    await page.click('text=Turn on');
    await page.waitForSelector('.codes');
    expect(await page.locator('.codes li').count()).toBe(10);
    await look();

    await page.click('text=I have them');
    await page.waitForURL('**/app/security');
    await page.fill('#name', 'Reader');
    await page.click('text=Add a passkey');
    await page.waitForSelector('.lines >> text=Reader');
    await page.click('text=Rename');
    await look();
    await page.fill('.lines input[name=name]', 'Fingerprint');
    await page.click('text=Save');
    await page.waitForSelector('.lines >> text=Fingerprint');

    await forgetProof(owner);
    await page.goto(`${url()}/app/security`);
    await page.waitForSelector('text=Is it you?');
    await page.waitForSelector('text=Use a passkey instead');
    await look();
    await page.click('text=Use a passkey instead');
    await page.waitForURL('**/app/security');

    await page.click('.sign-out button');
    await page.waitForURL('**/sign-in');
    await signIn(page, owner);
    await page.waitForSelector('text=One more step');
    await look();
    await page.fill('#otp', code(1));
    await page.click('main form:has(#otp) .button');
    await page.waitForURL('**/app');
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(url())).toEqual([]);
  });

  it('is a passkey that signs in by itself; signing out everywhere ends each browser', async () => {
    const owner = await service.client.register();
    const { page } = await open(`${url()}/sign-in?next=%2Fapp%2Fsecurity`, { viewport: sizes.phone });
    await plugIn(page);
    await signIn(page, owner);
    await page.waitForURL('**/app/security');
    await page.click('text=Add a passkey');
    await page.waitForSelector('.codes');
    await page.click('.sign-out button');
    await page.waitForURL('**/sign-in');
    await page.click('text=Sign in with a passkey');
    await page.waitForURL('**/app');
    expect((await service.client.get('/account/sessions', owner.key)).body.sessions).toHaveLength(1);

    // Beside the password, too.
    await page.click('.sign-out button');
    await page.waitForURL('**/sign-in');
    await signIn(page, owner);
    await page.click('text=Use a passkey instead');
    await page.waitForURL('**/app');

    await page.goto(`${url()}/app/devices`);
    await page.click('text=Sign out everywhere');
    await page.waitForURL('**/sign-in');
    expect((await service.client.get('/account/sessions', owner.key)).body.sessions).toEqual([]);
    await page.goto(`${url()}/app`);
    expect(page.url()).toBe(`${url()}/sign-in?next=%2Fapp`);
  });

  it('says so when no passkey was used, and the page stays', async () => {
    const owner = await service.client.register();
    const { page } = await open(`${url()}/sign-in`, { viewport: sizes.desktop });
    await plugIn(page);
    await page.evaluate('navigator.credentials.get = async () => { throw new Error("refused") }');
    await page.click('text=Sign in with a passkey');
    await page.waitForSelector('text=No passkey was used. Try again.');
    expect(await violations(page, 'everything')).toEqual([]);
    await signIn(page, owner);
    await page.waitForURL('**/app');
  });
});
