import { describe, expect, it } from 'vitest';
import { type Authenticator, createAuthenticator } from '../../support/authenticator.ts';
import type { TestAccount } from '../../support/client.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { readRecoveryCodes, turnAppOn } from '../../support/second-factor.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;
/** Passkeys belong to a host name. */
const url = () => service.url.replace('127.0.0.1', 'localhost');
const open = () => openOwnerBrowser(url());
const security = '/app/security';
const add = `${security}/passkeys/add`;
const second = '/sign-in/second-step';

interface Keyed {
  readonly owner: TestAccount;
  readonly browser: OwnerBrowser;
  readonly authenticator: Authenticator;
  readonly recoveryCodes: readonly string[];
}

async function signedIn() {
  const owner = await service.client.register();
  const browser = open();
  await browser.signIn(owner);
  return { owner, browser };
}

async function addTo(browser: OwnerBrowser, name = 'My device') {
  const authenticator = createAuthenticator(url());
  const { text } = await browser.get(security);
  return { authenticator, page: await browser.submit(add, { name, answer: authenticator.create(text) }) };
}

async function keyed(): Promise<Keyed> {
  const { owner, browser } = await signedIn();
  const { authenticator, page } = await addTo(browser);
  expect(page.status).toBe(200);
  return { owner, browser, authenticator, recoveryCodes: readRecoveryCodes(page.text) };
}

const isSignedIn = async (browser: OwnerBrowser) => (await browser.get('/app')).status === 200;
const idSql = '(SELECT id FROM accounts WHERE handle = $1)';
const forgetProof = ({ handle }: TestAccount) =>
  db().query(`UPDATE owner_sessions SET proved_at = NULL WHERE account_id = ${idSql}`, [handle]);
const passkeysOf = async ({ handle }: TestAccount) =>
  (
    await db().query<{ id: string; name: string }>(`SELECT id, name FROM passkeys WHERE account_id = ${idSql}`, [
      handle,
    ])
  ).rows;
const actionsOf = async ({ key }: TestAccount): Promise<string[]> =>
  (await service.client.get('/account/audit', key)).body.entries.map(({ action }: { action: string }) => action);
const subjectsOf = async ({ key }: TestAccount): Promise<string[]> =>
  (await service.client.get('/sandbox/messages', key)).body.messages.map(({ subject }: { subject: string }) => subject);

it.each([5, null, {}, 'usb', [1], [null]])(
  'takes a browser that says %j of how the passkey is reached',
  async (transports) => {
    const { browser } = await signedIn();
    const authenticator = createAuthenticator(url());
    const { text } = await browser.get(security);
    const answer = JSON.parse(authenticator.create(text));
    const page = await browser.submit(add, {
      name: 'My device',
      answer: JSON.stringify({ ...answer, response: { ...answer.response, transports } }),
    });
    expect(page.status).toBe(200);
  },
);

describe('a passkey', () => {
  it('is added with recovery codes, is a second factor, and can be renamed and removed', async () => {
    const { owner, browser, recoveryCodes } = await keyed();
    expect(recoveryCodes).toHaveLength(10);
    const { email, password } = owner;
    const viaApi = (otp?: string) => service.client.post('/agent/register', { email, password, ...(otp && { otp }) });
    expect((await viaApi()).body.code).toBe('second_factor_required');
    expect((await viaApi(recoveryCodes[0])).status).toBe(200);

    const [passkey] = await passkeysOf(owner);
    await browser.get(security);
    expect((await browser.submit(`${security}/passkeys/rename`, { id: passkey?.id ?? '', name: '' })).status).toBe(400);
    const renamed = await browser.submit(`${security}/passkeys/rename`, { id: passkey?.id ?? '', name: 'Phone' });
    expect(renamed.location).toBe(security);
    expect((await browser.get(security)).text).toContain('<span class="who">Phone</span>');
    expect((await addTo(browser, 'Laptop')).page.location).toBe(security);
    expect((await browser.submit(`${security}/passkeys/remove`, { id: passkey?.id ?? '' })).location).toBe(security);
    expect(await passkeysOf(owner)).toMatchObject([{ name: 'Laptop' }]);
    expect(await actionsOf(owner)).toEqual(
      expect.arrayContaining(['passkey.added', 'passkey.renamed', 'passkey.removed']),
    );
    expect(await subjectsOf(owner)).toEqual(
      expect.arrayContaining(['A passkey was added', 'A passkey was renamed', 'A passkey was removed']),
    );
    // With the last one, the recovery codes go.
    const [last] = await passkeysOf(owner);
    await browser.submit(`${security}/passkeys/remove`, { id: last?.id ?? '' });
    expect((await viaApi()).status).toBe(200);
    expect((await db().query(`SELECT FROM recovery_codes WHERE account_id = ${idSql}`, [owner.handle])).rowCount).toBe(
      0,
    );
  });

  it('of another account can be neither renamed nor removed', async () => {
    const { owner } = await keyed();
    const [passkey] = await passkeysOf(owner);
    const stranger = await signedIn();
    await stranger.browser.get(security);
    const fields = { id: passkey?.id ?? '', name: 'Mine' };
    expect((await stranger.browser.submit(`${security}/passkeys/rename`, fields)).status).toBe(404);
    expect((await stranger.browser.submit(`${security}/passkeys/remove`, fields)).status).toBe(404);
    expect(await passkeysOf(owner)).toMatchObject([{ name: 'My device' }]);
  });

  it.each([
    ['for another site', { origin: 'https://evil.example' }],
    ['for another host', { host: 'evil.example' }],
    ['without checking who it is', { isVerified: false }],
    ['for a challenge that was not ours', { challenge: Buffer.alloc(56).toString('base64url') }],
    ['for no challenge', { challenge: '' }],
  ])('that was made %s is not added', async (_what, spoiled) => {
    const { owner, browser } = await signedIn();
    const { text } = await browser.get(security);
    const answer = createAuthenticator(url()).create(text, spoiled);
    expect((await browser.submit(add, { name: 'x', answer })).status).toBe(400);
    expect(await passkeysOf(owner)).toEqual([]);
  });

  it.each([
    '',
    '{}',
    'null',
    '[]',
    '{"id":"a"}',
    '{"id":"a","response":{"clientDataJSON":"e30"}}',
    '{"id":5,"response":7}',
  ])('that the browser describes as %s is refused', async (answer) => {
    const { browser } = await signedIn();
    await browser.get(security);
    expect((await browser.submit(add, { name: 'x', answer })).status).toBe(400);
    const visitor = open();
    await visitor.get('/sign-in');
    expect((await visitor.submit('/sign-in/passkey', { answer })).status).toBe(400);
  });

  it('is added once, and its challenge is not accepted again', async () => {
    const { owner, browser } = await signedIn();
    const authenticator = createAuthenticator(url());
    const { text } = await browser.get(security);
    const answer = authenticator.create(text);
    expect((await browser.submit(add, { name: 'x', answer })).status).toBe(200);
    const [passkey] = await passkeysOf(owner);
    await browser.get(security);
    expect((await browser.submit(add, { name: 'x', answer })).status).toBe(400);
    await browser.submit(`${security}/passkeys/remove`, { id: passkey?.id ?? '' });
    expect((await browser.submit(add, { name: 'x', answer })).status).toBe(400);
    // Another answer to the same challenge.
    expect((await browser.submit(add, { name: 'x', answer: createAuthenticator(url()).create(text) })).status).toBe(
      400,
    );
    expect(await passkeysOf(owner)).toEqual([]);
  });

  it('belongs to one account, and to the session whose page asked for it', async () => {
    const { owner, browser, authenticator } = await keyed();
    const stranger = await signedIn();
    const { text } = await stranger.browser.get(security);
    expect((await stranger.browser.submit(add, { name: 'x', answer: authenticator.create(text) })).status).toBe(409);
    await browser.get(security);
    const foreign = createAuthenticator(url()).create(text);
    expect((await browser.submit(add, { name: 'x', answer: foreign })).status).toBe(400);
    expect(await passkeysOf(owner)).toHaveLength(1);
  });

  it('is one of twenty at most', async () => {
    const { owner, browser } = await keyed();
    await db().query(
      `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, transports, name)
       SELECT 'pky_' || n || $1, ${idSql}, n || $1, '', 0, '{}', 'x' FROM generate_series(1, 19) n`,
      [owner.handle],
    );
    expect((await addTo(browser)).page.status).toBe(409);
  });

  it('is not offered where the host is an address, as browsers know none there', async () => {
    const owner = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    expect((await browser.get('/sign-in')).text).not.toContain('data-passkey');
    await browser.signIn(owner);
    const page = await browser.get(security);
    expect(page.text).toContain('Browsers know passkeys on pages with a host name only.');
    expect((await browser.submit(add, { name: 'x', answer: '{}' })).status).toBe(400);
  });
});

describe('signing in with a passkey alone', () => {
  const enter = async (browser: OwnerBrowser, answerOf: (text: string) => string) => {
    const { text } = await browser.get('/sign-in?next=%2Fapp%2Fdevices');
    return browser.submit('/sign-in/passkey', { answer: answerOf(text) });
  };

  it('opens a session, which is proved, and leads on', async () => {
    const { owner, authenticator } = await keyed();
    const browser = open();
    const page = await enter(browser, authenticator.get);
    expect(page).toMatchObject({ status: 303, location: '/app/devices' });
    expect((await browser.get(security)).status).toBe(200);
    const { entries } = (await service.client.get('/account/audit?action=session.started', owner.key)).body;
    expect(entries[0].details.with).toEqual(['passkey']);
  });

  it('accepts an answer once, in the browser whose page asked for it', async () => {
    const { authenticator } = await keyed();
    const browser = open();
    let answer = '';
    await enter(browser, (text) => (answer = authenticator.get(text)));
    await browser.get('/app');
    const stranger = open();
    await stranger.get('/sign-in');
    const statuses: number[] = [];
    for (const other of [browser, stranger]) {
      await other.get('/app/devices');
      await other.submit('/sign-out');
      await other.get('/sign-in');
      statuses.push((await other.submit('/sign-in/passkey', { answer })).status);
    }
    expect(statuses).toEqual([400, 400]);

    const { text } = await browser.get('/sign-in');
    const fresh = authenticator.get(text);
    expect((await stranger.submit('/sign-in/passkey', { answer: fresh })).status).toBe(400);
    const replies = await Promise.all([1, 2, 3].map(() => browser.submit('/sign-in/passkey', { answer: fresh })));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([303, 400, 400]);
  });

  it.each([
    ['for another site', { origin: 'https://evil.example' }],
    ['for another host', { host: 'evil.example' }],
    ['without checking who it is', { isVerified: false }],
    ['for another challenge', { challenge: Buffer.alloc(56).toString('base64url') }],
  ])('refuses an answer %s', async (_what, spoiled) => {
    const { authenticator } = await keyed();
    const browser = open();
    expect((await enter(browser, (text) => authenticator.get(text, spoiled))).status).toBe(400);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('refuses an unknown passkey, a removed one, and one of a closed account', async () => {
    const unknown = createAuthenticator(url());
    expect((await enter(open(), unknown.get)).status).toBe(400);
    const { owner, browser, authenticator } = await keyed();
    const { owner: leaving, authenticator: left } = await keyed();
    const [passkey] = await passkeysOf(owner);
    await browser.get(security);
    await browser.submit(`${security}/passkeys/remove`, { id: passkey?.id ?? '' });
    expect((await enter(open(), authenticator.get)).status).toBe(400);
    const { password, key } = leaving;
    expect((await service.client.post('/account/close', { password }, key)).status).toBe(200);
    expect(await passkeysOf(leaving)).toEqual([]);
    expect((await enter(open(), left.get)).status).toBe(400);
  });

  it('refuses one that counts backwards, which is a copy', async () => {
    const { owner, authenticator } = await keyed();
    await db().query(`UPDATE passkeys SET counter = 1000 WHERE account_id = ${idSql}`, [owner.handle]);
    expect((await enter(open(), authenticator.get)).status).toBe(400);
  });

  it('is refused when the form is forged', async () => {
    const { authenticator } = await keyed();
    const browser = open();
    const { text } = await browser.get('/sign-in');
    const answer = authenticator.get(text);
    const forged = await browser.submit('/sign-in/passkey', { answer }, { origin: 'https://evil.example' });
    expect(forged.status).toBe(403);
    expect((await browser.submit('/sign-in/passkey', { answer })).status).toBe(303);
  });
});

describe('a passkey as the second step', () => {
  it('finishes the sign-in that asked for it, and no other', async () => {
    const { owner, authenticator } = await keyed();
    const stranger = await keyed();
    const browser = open();
    const step = await browser.signIn(owner);
    expect(step.text).toContain('Use a passkey instead');
    const theirs = await browser.submit(second, { answer: stranger.authenticator.get(step.text) });
    expect([theirs.status, theirs.text.includes('The passkey was not accepted')]).toEqual([400, true]);
    expect(await isSignedIn(browser)).toBe(false);
    const again = await browser.signIn(owner);
    const answer = authenticator.get(again.text);
    expect(await browser.submit(second, { answer })).toMatchObject({ status: 303, location: '/app' });
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('is not slowed by wrong codes', async () => {
    const { owner, authenticator } = await keyed();
    const browser = open();
    let step = await browser.signIn(owner);
    for (let n = 0; n < 6; n++) step = await browser.submit(second, { otp: '000000' });
    expect(step.status).toBe(429);
    expect((await browser.submit(second, { answer: authenticator.get(step.text) })).status).toBe(303);
  });
});

describe('proving to be there', () => {
  it('takes a passkey alone, of this account and for this session', async () => {
    const { owner, browser, authenticator } = await keyed();
    const stranger = await keyed();
    await forgetProof(owner);
    await forgetProof(stranger.owner);
    const next = '/app/confirm?next=%2Fapp%2Fsecurity';
    const { text } = await browser.get(next);
    const theirPage = (await stranger.browser.get(next)).text;
    for (const answer of [
      stranger.authenticator.get(text),
      authenticator.get(theirPage),
      authenticator.get(text, { isVerified: false }),
    ]) {
      expect((await browser.submit('/app/confirm', { answer })).status).toBe(400);
    }
    const answer = authenticator.get(text);
    expect((await browser.submit('/app/confirm', { answer })).location).toBe('/app/security');
    expect((await browser.get(security)).status).toBe(200);
    await forgetProof(owner);
    await browser.get(next);
    expect((await browser.submit('/app/confirm', { answer })).status).toBe(400);
    const { entries } = (await service.client.get('/account/audit?action=session.proved', owner.key)).body;
    expect(entries).toMatchObject([{ details: { with: ['passkey'] } }]);
  });

  it('takes the password and a code as well, where both are there', async () => {
    const { owner, browser } = await keyed();
    const app = await turnAppOn(browser);
    expect(app.recoveryCodes).toEqual([]);
    await forgetProof(owner);
    await browser.get('/app/confirm');
    const done = await browser.submit('/app/confirm', { password: owner.password, otp: app.code() });
    expect(done.location).toBe('/app');
  });
});
