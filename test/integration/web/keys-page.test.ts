import { describe, expect, test } from 'vitest';
import type { Client, TestAccount } from '../../support/client.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';

const service = useService();

interface Made {
  readonly id: string;
  readonly apiKey: string;
}

async function signedIn() {
  const owner = await service.client.register();
  return { owner, browser: await signIn(owner) };
}

async function signIn(owner: TestAccount): Promise<OwnerBrowser> {
  const browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
  return browser;
}

const client = (): Client => service.client;
const keysOf = async ({
  key,
}: TestAccount): Promise<{ id: string; name: string; parent: string | null; scopes: string[] }[]> =>
  (await client().get('/account/keys', key)).body.keys;
const makeKey = async ({ key }: TestAccount, wish: object = {}): Promise<Made> =>
  (await client().post('/account/keys', { name: 'Agent', ...wish }, key)).body;
const policyOf = async ({ key }: TestAccount, id: string) =>
  (await client().get(`/account/keys/${id}/policy`, key)).body;
const putPolicy = ({ key }: TestAccount, id: string, body: object) =>
  client().request('PUT', `/account/keys/${id}/policy`, { key, body });
const audited = async ({
  key,
}: TestAccount): Promise<{ action: string; keyId: string | null; details: Record<string, unknown> }[]> =>
  (await client().get('/account/audit', key)).body.entries;
const mails = async ({ key }: TestAccount): Promise<{ subject: string; text: string }[]> =>
  (await client().get('/sandbox/messages', key)).body.messages;

const agent = { name: 'Shopping agent', may: 'pay', parent: '', expires: '' };
const onceIn = (text: string) => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? '';
const secretIn = (text: string) => /pa_live_\w+/.exec(text)?.[0];
const everything = Object.fromEntries(
  ['transfer', 'invoice', 'withdraw', 'bridge', 'swap', 'order', 'call'].map((operation) => [`may-${operation}`, 'on']),
);
const wanted = {
  currency: 'USDC',
  day: '20',
  week: '',
  month: '',
  beyond: 'deny',
  askAbove: '5',
  askNew: 'on',
  ...everything,
};
const sentence = 'May spend 20 USDC a day; asks you above 5 USDC and before paying anyone new.';

describe('creating a key', () => {
  test('shows the secret once, in an answer that nobody keeps, and not again after a reload', async () => {
    const { owner, browser } = await signedIn();
    const once = onceIn((await browser.get('/app/keys/new')).text);
    const page = await browser.submit('/app/keys/new', agent);
    expect([page.status, page.location, page.headers.get('cache-control')]).toEqual([200, null, 'no-store']);
    const apiKey = secretIn(page.text) ?? '';
    expect((await client().get('/account', apiKey)).status).toBe(200);
    expect([...browser.cookies.values()].join()).not.toContain(apiKey);

    const again = await browser.submit('/app/keys/new', { ...agent, name: 'Another', once });
    expect(again.text).toContain('This key was created already');
    expect(secretIn(again.text)).toBeUndefined();
    const without = await browser.submit('/app/keys/new', { ...agent, once: '' });
    expect([without.status, without.text.includes('The form was incomplete')]).toEqual([400, true]);
    expect((await keysOf(owner)).map(({ name, parent, scopes }) => [name, parent, scopes])).toEqual([
      ['Shopping agent', null, ['read', 'pay']],
      ['Registration', null, ['read', 'pay', 'withdraw', 'manage']],
    ]);
    const { rows } = await service.database.db.query<{ found: boolean }>(
      "SELECT coalesce(answer::text, '') LIKE $1 AS found FROM ledger.idempotency_keys",
      [`%${apiKey.slice(-30)}%`],
    );
    expect(rows.filter(({ found }) => found)).toEqual([]);
    const entry = (await audited(owner)).find(({ action }) => action === 'key.created');
    expect(entry).toMatchObject({
      keyId: null,
      details: { name: 'Shopping agent', session: expect.stringMatching(/^ses_/) },
    });
  });

  test('sent several times at once, creates one', async () => {
    const { owner, browser } = await signedIn();
    await browser.get('/app/keys/new');
    const pages = await Promise.all([1, 2, 3, 4].map(() => browser.submit('/app/keys/new', agent)));
    expect(pages.filter(({ text }) => secretIn(text))).toHaveLength(1);
    for (const { status } of pages) expect([200, 409]).toContain(status);
    expect(await keysOf(owner)).toHaveLength(2);
  });

  test('below another key gives no more than that one has, and mails the owner where it may withdraw', async () => {
    const { owner, browser } = await signedIn();
    const parent = await makeKey(owner, { scopes: ['read', 'pay'], expiresAt: '2999-01-01' });
    expect((await browser.get(`/app/keys/new?parent=${parent.id}`)).text).toContain(`value="${parent.id}" selected`);
    const tooMuch = await browser.submit('/app/keys/new', { ...agent, may: 'withdraw', parent: parent.id });
    expect([tooMuch.status, secretIn(tooMuch.text)]).toEqual([403, undefined]);
    expect(tooMuch.text).toContain('The parent lacks the scope');
    expect(tooMuch.text).toContain('value="Shopping agent"');
    const late = await browser.submit('/app/keys/new', { ...agent, parent: parent.id, expires: '3000-01-01' });
    expect(late.text).toContain('the new key must not expire later');
    expect(secretIn((await browser.submit('/app/keys/new', { ...agent, parent: parent.id })).text)).toBeDefined();
    expect((await keysOf(owner)).find(({ name }) => name === 'Shopping agent')?.parent).toBe(parent.id);

    await browser.get('/app/keys/new');
    expect(secretIn((await browser.submit('/app/keys/new', { ...agent, may: 'withdraw' })).text)).toBeDefined();
    expect((await mails(owner)).map(({ subject }) => subject)).toContain(
      'A new API key can withdraw from your account',
    );
  });

  test.each([
    [{ name: '' }, 'This is required.'],
    [{ name: 'a\u202eb' }, 'This must not contain invisible characters'],
    [{ may: 'fly' }, 'This must be one of these.'],
    [{ expires: '2020-01-01' }, 'This must be in the future'],
    [{ expires: 'soon' }, 'This must be a valid date'],
    [{ parent: 'key_unknown' }, 'The key above the new one no longer works.'],
  ])('with %j says what is wrong and keeps the rest', async (fault, message) => {
    const { owner, browser } = await signedIn();
    await browser.get('/app/keys/new');
    const entered = { ...agent, name: 'Kept', ...fault };
    const page = await browser.submit('/app/keys/new', entered);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.status).toBeLessThan(500);
    expect(page.text).toContain(message);
    if (entered.name === 'Kept') expect(page.text).toContain('value="Kept"');
    expect(await keysOf(owner)).toHaveLength(1);
  });
});

describe('the policy of a key', () => {
  test('is set by the form, roots included, and read back as one sentence', async () => {
    const { owner, browser } = await signedIn();
    const [root] = await keysOf(owner);
    const path = `/app/keys/${root?.id}`;
    expect((await browser.get(path)).text).toContain('This key has no limits of its own.');
    expect(await browser.submit(`${path}/policy`, wanted)).toMatchObject({ status: 303, location: path });
    expect((await browser.get(path)).text).toContain(sentence);
    expect((await browser.get('/app/keys')).text).toContain(sentence);
    const entry = (await audited(owner)).find(({ action }) => action === 'policy.changed');
    expect(entry).toMatchObject({ keyId: null, details: { key: root?.id, session: expect.stringMatching(/^ses_/) } });

    // A limited root no longer speaks for the owner.
    const other = (await client().post('/agent/register', { email: owner.email, password: owner.password })).body
      .apiKey as string;
    const otherId = (await keysOf(owner)).find(({ name }) => name === 'Sign-in')?.id ?? '';
    const rotate = (id: string, key: string) => client().post(`/account/keys/${id}/rotate`, undefined, key);
    expect(await rotate(otherId, owner.key)).toMatchObject({ status: 403, body: { code: 'not_an_ancestor' } });
    await client().post(`/account/keys/${otherId}/freeze`, undefined, other);
    expect(await client().post(`/account/keys/${otherId}/unfreeze`, undefined, owner.key)).toMatchObject({
      status: 403,
      body: { code: 'not_an_ancestor' },
    });
  });

  test('is left alone by a form that was made from an older one, and the page says what it is now', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    const path = `/app/keys/${id}`;
    await browser.get(path);
    await putPolicy(owner, id, { rules: [] });
    const refused = await browser.submit(`${path}/policy`, wanted);
    expect(refused.status).toBe(412);
    expect(refused.text).toContain('The policy was changed meanwhile');
    expect(refused.text).toContain('May spend nothing.');
    expect(refused.text).toContain('name="day" value="20"');
    expect((await policyOf(owner, id)).rules).toEqual([]);
    // The page that was answered has the new version, so saving it again is deliberate.
    expect((await browser.submit(`${path}/policy`, wanted)).status).toBe(303);
    const { version } = await policyOf(owner, id);

    await browser.get(path);
    await putPolicy(owner, id, { rules: [{ effect: 'allow' }] });
    const remove = await browser.submit(`${path}/policy/remove`, { version });
    expect([remove.status, remove.text.includes('changed meanwhile')]).toEqual([412, true]);
    expect((await browser.submit(`${path}/policy/remove`)).status).toBe(303);
    expect((await policyOf(owner, id)).code).toBe('policy_not_found');
  });

  test('mails the owner when it becomes wider', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    await browser.get(`/app/keys/${id}`);
    await browser.submit(`/app/keys/${id}/policy`, wanted);
    await browser.get(`/app/keys/${id}`);
    await browser.submit(`/app/keys/${id}/policy`, { ...wanted, day: '30' });
    const wider = (await mails(owner)).filter(
      ({ subject }) => subject === 'An API key of your account may now spend more',
    );
    expect(wider.map(({ text }) => text)).toEqual([expect.stringContaining('by the owner on the website')]);
    expect((await audited(owner)).map(({ action }) => action)).toContain('policy.widened');
  });

  test('that the form cannot express is shown, and replaced by saving', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    await putPolicy(owner, id, {
      rules: [{ effect: 'deny', counterparty: ['<b>.example'.replace(/[<>]/g, '')] }, { effect: 'allow' }],
    });
    const page = await browser.get(`/app/keys/${id}`);
    expect(page.text).toContain('refuses payments to b.example');
    expect(page.text).toContain('Saving the form replaces it.');
    expect(page.text).toContain('&quot;b.example&quot;');
    await browser.submit(`/app/keys/${id}/policy`, wanted);
    const after = await browser.get(`/app/keys/${id}`);
    expect(after.text).toContain(sentence);
    expect(after.text).not.toContain('Saving the form replaces it.');
  });

  test('with faults is not saved; each is told beside its field, and what was entered is kept', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    await browser.get(`/app/keys/${id}`);
    const page = await browser.submit(`/app/keys/${id}/policy`, { ...wanted, day: 'much', week: '70' });
    expect(page.status).toBe(400);
    expect(page.text).toMatch(/name="day" value="much"[^>]*aria-invalid="true"[^>]*aria-describedby="day-note"/);
    expect(page.text).toContain('<p class="rule wrong" id="day-note">This must be a decimal number such as 12.5.</p>');
    expect(page.text).toContain('name="week" value="70"');
    expect((await policyOf(owner, id)).code).toBe('policy_not_found');
    // The currency of a budget that was spent from never changes.
    await putPolicy(owner, id, { budgets: [{ id: 'eurc-day', amount: 1, currency: 'USDC', window: 'week' }] });
    await browser.get(`/app/keys/${id}`);
    const clash = await browser.submit(`/app/keys/${id}/policy`, { ...wanted, currency: 'EURC' });
    expect([clash.status, clash.text.includes('give it another id')]).toEqual([400, true]);
  });

  test('counts for the keys below, whose pages say so, with what was spent', async () => {
    const { owner, browser } = await signedIn();
    const friend = await client().register();
    await client().post('/sandbox/fund', { amount: 50 }, owner.key);
    const parent = await makeKey(owner, { name: 'Team' });
    const child = await makeKey(owner, { name: 'Helper', parent: parent.id, scopes: ['read', 'pay'] });
    await browser.get(`/app/keys/${parent.id}`);
    await browser.submit(`/app/keys/${parent.id}/policy`, { ...wanted, askAbove: '', askNew: '' });
    await browser.get(`/app/keys/${parent.id}`);
    const { askAbove: _, askNew: __, ...noAsking } = wanted;
    await browser.submit(`/app/keys/${parent.id}/policy`, noAsking);
    const pay = { to: friend.handle, amount: 2.5, currency: 'USDC' };
    expect((await client().post('/agent/transfer', pay, child.apiKey)).status).toBe(200);
    const page = await browser.get(`/app/keys/${child.id}`);
    expect(page.text).toContain(
      `Also within the limits of <a href="/app/keys/${parent.id}">Team</a>: May spend 20 USDC a day.`,
    );
    expect(page.text).toMatch(/With the other keys below Team.*2\.50 of 20\.00 USDC spent, resets/s);
    expect((await browser.get('/app/keys')).text).toContain('17.50 left');
  });
});

describe('freezing and revoking', () => {
  test('the owner freezes and unfreezes every key, roots included', async () => {
    const { owner, browser } = await signedIn();
    const [root] = await keysOf(owner);
    const child = await makeKey(owner);
    await browser.get(`/app/keys/${root?.id}`);
    expect((await browser.submit(`/app/keys/${root?.id}/freeze`)).location).toBe(`/app/keys/${root?.id}`);
    const refused = await client().post('/account/keys', { name: 'x' }, owner.key);
    expect(refused).toMatchObject({ status: 403, body: { code: 'key_frozen' } });
    expect((await browser.get(`/app/keys/${child.id}`)).text).toContain('frozen by a key above');
    await browser.submit(`/app/keys/${root?.id}/unfreeze`);
    expect((await client().post('/account/keys', { name: 'x' }, owner.key)).status).toBe(201);
    const actions = (await audited(owner)).filter(({ details }) => 'session' in details).map(({ action }) => action);
    expect(actions).toEqual(['key.unfrozen', 'key.frozen', 'session.started']);
  });

  test('revoking ends the key and those below, and a second time changes nothing', async () => {
    const { owner, browser } = await signedIn();
    const parent = await makeKey(owner);
    const child = await makeKey(owner, { parent: parent.id });
    const hook = { url: 'https://agent.example/hook', events: ['transfer.received'], secret: 'x'.repeat(32) };
    await client().post('/webhooks', hook, child.apiKey);
    expect((await browser.get(`/app/keys/${parent.id}`)).text).toContain('and the key below it');
    for (const _ of [1, 2]) {
      expect(await browser.submit(`/app/keys/${parent.id}/revoke`, { webhooks: 'on' })).toMatchObject({
        status: 303,
        location: '/app/keys',
      });
    }
    for (const { apiKey } of [parent, child]) expect((await client().get('/account', apiKey)).status).toBe(401);
    expect((await audited(owner)).filter(({ action }) => action === 'key.revoked')).toHaveLength(1);
    expect((await browser.get(`/app/keys/${parent.id}`)).status).toBe(404);
    expect((await browser.get('/app/keys')).text).not.toContain(parent.id);
    await browser.get('/app');
    expect((await browser.submit(`/app/keys/${parent.id}/policy`, { ...wanted, version: '' })).status).toBe(404);
  });

  test('without any key the page says so, and a new root begins again', async () => {
    const { owner, browser } = await signedIn();
    const [root] = await keysOf(owner);
    await browser.get(`/app/keys/${root?.id}`);
    await browser.submit(`/app/keys/${root?.id}/revoke`);
    expect((await browser.get('/app/keys')).text).toContain('There is no key.');
    await browser.get('/app/keys/new');
    const page = await browser.submit('/app/keys/new', { ...agent, may: 'all' });
    expect((await client().get('/account/keys', secretIn(page.text) ?? '')).status).toBe(200);
  });
});

describe('the pages and forms', () => {
  const forms = ['policy', 'policy/remove', 'freeze', 'unfreeze', 'revoke'];

  test('know the keys of their own account only', async () => {
    const { owner, browser } = await signedIn();
    const stranger = await client().register();
    const { id } = await makeKey(stranger);
    await putPolicy(stranger, id, { rules: [] });
    const { version } = await policyOf(stranger, id);
    expect((await browser.get(`/app/keys/${id}`)).status).toBe(404);
    await browser.get('/app');
    for (const form of forms)
      expect((await browser.submit(`/app/keys/${id}/${form}`, { ...wanted, version })).status, form).toBe(404);
    await browser.get('/app/keys/new');
    const below = await browser.submit('/app/keys/new', { ...agent, parent: id });
    expect([below.status, secretIn(below.text)]).toEqual([404, undefined]);
    for (const odd of ['key_unknown', '%00', '..%2f..', 'x'.repeat(500)]) {
      expect([400, 404, 414], odd).toContain((await browser.get(`/app/keys/${odd}`)).status);
    }
    expect((await policyOf(stranger, id)).version).toBe(version);
    expect(await keysOf(owner)).toHaveLength(1);
    expect(await keysOf(stranger)).toHaveLength(2);
  });

  test('take no form of another origin, nor one without the token of the session', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    await browser.get(`/app/keys/${id}`);
    for (const path of ['/app/keys/new', ...forms.map((form) => `/app/keys/${id}/${form}`)]) {
      const entered = { ...agent, ...wanted, once: 'x'.repeat(22) };
      expect((await browser.submit(path, entered, { origin: 'https://evil.example' })).status, path).toBe(403);
      expect((await browser.submit(path, { ...entered, form: 'A'.repeat(43) })).status, path).toBe(403);
      expect((await openOwnerBrowser(service.url).submit(path, entered)).location, path).toBe('/sign-in');
    }
    expect(await keysOf(owner)).toHaveLength(2);
    expect((await policyOf(owner, id)).code).toBe('policy_not_found');
  });

  test('change nothing for a session that ends while the form is on its way', async () => {
    const { owner, browser } = await signedIn();
    const { id } = await makeKey(owner);
    await browser.get(`/app/keys/${id}`);
    const { db } = service.database;
    const found = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [owner.handle]);
    const accountId = found.rows[0]?.id;
    // The form waits for the owner's row, and the session ends before it gets it.
    const page = await db.transaction(async (tx) => {
      await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
      const sent = browser.submit(`/app/keys/${id}/policy`, wanted);
      await expect
        .poll(async () => {
          const { rowCount } = await db.query(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          );
          return rowCount;
        })
        .toBeGreaterThan(0);
      await tx.query('UPDATE owner_sessions SET ended_at = clock_timestamp() WHERE account_id = $1', [accountId]);
      return { sent };
    });
    const refused = await page.sent;
    expect([refused.status, refused.text.includes('This session has ended meanwhile')]).toEqual([403, true]);
    expect((await policyOf(owner, id)).code).toBe('policy_not_found');
  });
});
