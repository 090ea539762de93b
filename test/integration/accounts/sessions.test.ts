import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const open = (userAgent?: string) => openOwnerBrowser(service.url, userAgent);

async function signedIn() {
  const owner = await service.client.register();
  const browser = open();
  expect(await browser.signIn(owner)).toMatchObject({ status: 303, location: '/app' });
  return { owner, browser };
}

/** Opens the page as a signed-in owner would, or is sent to sign in. */
const isSignedIn = async (browser: ReturnType<typeof open>) => (await browser.get('/app')).status === 200;
const age = (sql: string, email: string) =>
  service.database.db.query(
    `UPDATE owner_sessions SET ${sql} WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
    [email],
  );

describe('signing in on the pages', () => {
  it('sets a cookie that scripts cannot read, and shows the account', async () => {
    const { owner, browser } = await signedIn();
    const page = await browser.get('/app');
    expect(page.text).toContain(owner.handle);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const again = open();
    await again.get('/sign-in');
    const reply = await again.submit('/sign-in', { email: owner.email.toUpperCase(), password: owner.password });
    expect(reply.headers.get('set-cookie')).toMatch(/^paywright-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it('takes no cookie over the API, and stores no token', async () => {
    const { browser } = await signedIn();
    const [token = ''] = [...browser.cookies].flatMap(([name, value]) => (name === 'paywright-session' ? [value] : []));
    const cookie = `paywright-session=${token}`;
    expect((await service.client.request('GET', '/account', { headers: { cookie } })).status).toBe(401);
    const { rows } = await service.database.db.query<{ row: string }>(
      'SELECT row_to_json(s)::text AS row FROM owner_sessions s',
    );
    expect(rows.filter(({ row }) => row.includes(token))).toEqual([]);
  });

  it('says the same of a wrong password and of an unknown email, and records the failure', async () => {
    const owner = await service.client.register();
    const browser = open();
    for (const email of [owner.email, 'nobody@example.com', '"><script>@example.com']) {
      const page = await browser.signIn({ email, password: 'wrong horse' });
      expect(page.status).toBe(email.includes('<') ? 400 : 401);
      expect(page.text).not.toContain('<script>@');
      if (page.status === 401) expect(page.text).toContain('There is no account with this email and password.');
    }
    expect(await isSignedIn(browser)).toBe(false);
    const { body } = await service.client.get('/account/audit?action=sign_in.failed', owner.key);
    expect(body.entries).toHaveLength(1);
  });

  it('gives a new token and ends the session that the browser had', async () => {
    const { owner, browser } = await signedIn();
    const before = browser.cookies.get('paywright-session') as string;
    const thief = open();
    await browser.get('/sign-out');
    const other = open();
    await other.get('/sign-in');
    (other.cookies as Map<string, string>).set('paywright-session', before);
    await other.submit('/sign-in', { email: owner.email, password: owner.password });
    expect(other.cookies.get('paywright-session')).not.toBe(before);
    (thief.cookies as Map<string, string>).set('paywright-session', before);
    expect(await isSignedIn(thief)).toBe(false);
    expect(await isSignedIn(other)).toBe(true);
  });

  it('leads back to the page that was asked for, and nowhere else', async () => {
    const owner = await service.client.register();
    const browser = open();
    expect(await browser.get('/app/devices')).toMatchObject({
      status: 303,
      location: '/sign-in?next=%2Fapp%2Fdevices',
    });
    await browser.get('/sign-in?next=%2Fapp%2Fdevices');
    expect((await browser.submit('/sign-in', { ...owner })).location).toBe('/app/devices');
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/app//evil.example',
      '/api/account',
      '/app/%2e%2e/',
      'javascript:alert(1)',
    ]) {
      const fresh = open();
      await fresh.get('/sign-in');
      expect((await fresh.submit('/sign-in', { ...owner, next })).location, next).toBe('/app');
    }
  });
});

describe('a form', () => {
  it('is refused from another origin, without one, and without the token of this session', async () => {
    const { owner, browser } = await signedIn();
    const stranger = await signedIn();
    await browser.get('/app/devices');
    await stranger.browser.get('/app/devices');
    const everywhere = { from: 'everywhere' };
    for (const origin of ['https://evil.example', 'null', `${service.url}.evil.example`]) {
      expect((await browser.submit('/sign-out', everywhere, { origin })).status, origin).toBe(403);
    }
    expect((await browser.submit('/sign-out', { ...everywhere, form: '' })).status).toBe(403);
    expect((await browser.submit('/sign-out', { ...everywhere, form: 'A'.repeat(43) })).status).toBe(403);
    const theirs = /name="form" value="([^"]+)"/.exec((await stranger.browser.get('/app')).text)?.[1] ?? '';
    const refused = await browser.submit('/sign-out', { ...everywhere, form: theirs });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('Nothing was changed');
    expect(await isSignedIn(browser)).toBe(true);
    expect((await service.client.get('/account/sessions', owner.key)).body.sessions).toHaveLength(1);
  });

  it('to sign in is refused where the page was not opened in this browser', async () => {
    const owner = await service.client.register();
    const browser = open();
    expect((await browser.submit('/sign-in', { ...owner })).status).toBe(403);
    await browser.get('/sign-in');
    expect((await browser.submit('/sign-in', { ...owner }, { origin: 'https://evil.example' })).status).toBe(403);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('that is too large or in another format changes nothing and is no server error', async () => {
    const { browser } = await signedIn();
    await browser.get('/app');
    expect((await browser.submit('/sign-out', { from: 'x'.repeat(70_000) })).status).toBe(413);
    expect((await browser.submit('/sign-out', {}, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await browser.submit('/app/devices/end', { id: '\0' })).status).toBe(400);
    // JSON could make a field anything, such as an object with a length.
    for (const form of [{ length: 100_000_000 }, 5, null]) {
      const reply = await fetch(`${service.url}/sign-in`, {
        method: 'POST',
        headers: { origin: service.url, cookie: 'paywright-visitor=x', 'content-type': 'application/json' },
        body: JSON.stringify({ form }),
      });
      expect(reply.status).toBe(415);
      expect(reply.headers.get('content-type')).toContain('text/html');
    }
    expect((await browser.get('/app/nothing')).text).toContain('There is no page at this address.');
    expect(await isSignedIn(browser)).toBe(true);
  });
});

describe('a cookie', () => {
  it('does not count where its name comes twice, or after white space that is none in a header', async () => {
    const { browser } = await signedIn();
    const token = browser.cookies.get('paywright-session') as string;
    const statusWith = async (cookie: string) => {
      const { port } = new URL(service.url);
      const { status } = await new Promise<{ status: number }>((resolve, reject) => {
        const request = get({ port, path: '/app', headers: { cookie } }, (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0 });
        });
        request.on('error', reject);
      });
      return status;
    };
    expect(await statusWith(`a=b; paywright-session=${token}`)).toBe(200);
    expect(await statusWith(`paywright-session=x; paywright-session=${token}`)).toBe(303);
    expect(await statusWith(`a=b; \u00a0paywright-session=${token}`)).toBe(303);
  });
});

describe('a session', () => {
  it('ends after 30 minutes without use and after 12 hours in all', async () => {
    const { owner, browser } = await signedIn();
    await age("seen_at = now() - interval '29 minutes'", owner.email);
    expect(await isSignedIn(browser)).toBe(true);
    await age("created_at = now() - interval '11 hours 59 minutes'", owner.email);
    expect(await isSignedIn(browser)).toBe(true);
    await age("seen_at = now() - interval '31 minutes'", owner.email);
    expect(await isSignedIn(browser)).toBe(false);
    await age("seen_at = now(), created_at = now() - interval '12 hours'", owner.email);
    expect(await isSignedIn(browser)).toBe(false);
    expect((await service.client.get('/account/sessions', owner.key)).body.sessions).toEqual([]);
  });

  it('ends on this device or on all', async () => {
    const { owner, browser } = await signedIn();
    const phone = open('Mozilla/5.0 (iPhone) Safari/604');
    await phone.signIn(owner);
    const devices = await browser.get('/app/devices');
    expect(devices.text).toContain('Firefox on Linux');
    expect(devices.text).toContain('Safari on iPhone');
    await phone.get('/app');
    expect(await phone.submit('/sign-out')).toMatchObject({ status: 303, location: '/sign-in' });
    expect(phone.cookies.has('paywright-session')).toBe(false);
    expect(await isSignedIn(browser)).toBe(true);
    await phone.signIn(owner);
    await browser.get('/app/devices');
    await browser.submit('/sign-out', { from: 'everywhere' });
    expect(await isSignedIn(phone)).toBe(false);
  });

  it('of another device can be ended, and of another account cannot', async () => {
    const { owner, browser } = await signedIn();
    const stranger = await signedIn();
    const phone = open();
    await phone.signIn(owner);
    const { sessions } = (await service.client.get('/account/sessions', owner.key)).body;
    const theirs = (await service.client.get('/account/sessions', stranger.owner.key)).body.sessions;
    await browser.get('/app/devices');
    await browser.submit('/app/devices/end', { id: theirs[0].id });
    await browser.submit('/app/devices/end', { id: sessions[0].id });
    expect(await isSignedIn(stranger.browser)).toBe(true);
    expect(await isSignedIn(phone)).toBe(false);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('is listed and ended over the API by its account', async () => {
    const { owner, browser } = await signedIn();
    const stranger = await service.client.register();
    const [session] = (await service.client.get('/account/sessions', owner.key)).body.sessions;
    expect(session).toMatchObject({ address: '127.0.0.1', browser: expect.stringContaining('Firefox') });
    expect((await service.client.get('/account/sessions', stranger.key)).body.sessions).toEqual([]);
    const end = (key: string) => service.client.request('DELETE', `/account/sessions/${session.id}`, { key });
    expect(await end(stranger.key)).toMatchObject({ status: 404, body: { code: 'session_not_found' } });
    expect(await isSignedIn(browser)).toBe(true);
    const weak = (await service.client.post('/account/keys', { name: 'Agent', scopes: ['read', 'pay'] }, owner.key))
      .body;
    expect((await end(weak.apiKey)).status).toBe(403);
    expect(await end(owner.key)).toMatchObject({ status: 200, body: { id: session.id, ended: true } });
    expect((await end(owner.key)).status).toBe(404);
    expect(await isSignedIn(browser)).toBe(false);
    const { entries } = (await service.client.get('/account/audit', owner.key)).body;
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(
      expect.arrayContaining(['session.started', 'session.ended']),
    );
  });

  it('ends when the password changes, and goes when the account is closed', async () => {
    const { owner, browser } = await signedIn();
    const change = { currentPassword: owner.password, newPassword: 'a newer horse' };
    expect((await service.client.post('/account/password', change, owner.key)).status).toBe(200);
    expect(await isSignedIn(browser)).toBe(false);
    expect((await browser.signIn(owner)).status).toBe(401);
    await browser.signIn({ email: owner.email, password: 'a newer horse' });
    const closed = await service.client.post('/account/close', { password: 'a newer horse' }, owner.key);
    expect(closed.status).toBe(200);
    expect(await isSignedIn(browser)).toBe(false);
    const { rowCount } = await service.database.db.query(
      'SELECT FROM owner_sessions s JOIN accounts a ON a.id = s.account_id WHERE a.handle = $1',
      [owner.handle],
    );
    expect(rowCount).toBe(0);
  });

  it('ends with all keys, and with a password that another release has set', async () => {
    const { owner, browser } = await signedIn();
    await service.client.post('/account/keys/revoke-all', undefined, owner.key);
    expect(await isSignedIn(browser)).toBe(false);
    const other = await signedIn();
    await service.database.db.query("UPDATE accounts SET password_hash = password_hash || ' ' WHERE email = $1", [
      other.owner.email,
    ]);
    expect(await isSignedIn(other.browser)).toBe(false);
  });

  it('does not outlive a change of the password that is committed while it is opened', async () => {
    const owner = await service.client.register();
    const browsers = Array.from({ length: 6 }, () => open());
    const change = { currentPassword: owner.password, newPassword: 'a newer horse' };
    const [changed] = await Promise.all([
      service.client.post('/account/password', change, owner.key),
      ...browsers.map((browser) => browser.signIn(owner)),
    ]);
    expect(changed.status).toBe(200);
    for (const browser of browsers) expect(await isSignedIn(browser)).toBe(false);
  });
});

describe('a key that was stolen', () => {
  async function withKey(scopes: readonly string[]) {
    const { owner, browser } = await signedIn();
    const { body } = await service.client.post('/account/keys', { name: 'agent', scopes }, owner.key);
    return { owner, browser, id: body.id, key: body.apiKey };
  }
  const sessionsOf = async (key: string) => (await service.client.get('/account/sessions', key)).body.sessions;

  it('ends no session of its owner, unless it is a root without a policy', async () => {
    const { owner, browser, id, key } = await withKey(['read', 'manage']);
    const [session] = await sessionsOf(key);
    const end = (by: string) => service.client.request('DELETE', `/account/sessions/${session.id}`, { key: by });
    expect((await end(key)).body.code).toBe('not_an_ancestor');
    await service.client.post(`/account/keys/${id}/freeze`, undefined, owner.key);
    expect((await end(key)).body.code).toBe('key_frozen');
    expect(await isSignedIn(browser)).toBe(true);
    expect((await end(owner.key)).status).toBe(200);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('uses up no cap that the owner needs on the pages', async () => {
    const { owner, browser, id } = await withKey(['read', 'manage']);
    await service.client.post(`/account/keys/${id}/freeze`, undefined, owner.key);
    await service.database.db.query(
      `INSERT INTO message_counts (scope, day, count)
       SELECT 'settings:account:' || id, (now() AT TIME ZONE 'UTC')::date, 100000 FROM accounts WHERE email = $1`,
      [owner.email],
    );
    const byKey = await service.client.post(`/account/keys/${id}/unfreeze`, undefined, owner.key);
    expect(byKey.body.code).toBe('daily_cap_reached');
    await browser.get(`/app/keys/${id}`);
    expect(await browser.submit(`/app/keys/${id}/unfreeze`)).toMatchObject({
      status: 303,
      location: `/app/keys/${id}`,
    });
  });
});

it('an owner whose proof ends on the answer to a form comes back to the page of the form', async () => {
  const { owner, browser } = await signedIn();
  const { body } = await service.client.post('/account/keys', { name: 'agent' }, owner.key);
  await browser.get(`/app/keys/${body.id}`);
  await age('proved_at = NULL', owner.email);
  const referer = `${service.url}/app/keys/${body.id}/policy`;
  const reply = await browser.submit(`/app/keys/${body.id}/policy`, { day: '5' }, { referer });
  expect(reply.location).toBe(`/app/confirm?next=${encodeURIComponent(`/app/keys/${body.id}`)}`);
});
