import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { holdProvedSession, type OwnerSession } from '../../../src/accounts/sessions/owner-session.ts';
import { features } from '../../../src/app/features.ts';
import type { ListedFeature } from '../../../src/app/listed-feature.ts';
import type { PageParts } from '../../../src/app/parts.ts';
import { dailyCaps } from '../../../src/kernel/daily-caps/count-today.ts';
import { readForms } from '../../../src/kernel/http/parse-form.ts';
import { addProblemPages, createShell } from '../../../src/web/app/shell.ts';
import { html } from '../../../src/web/html.ts';
import type { TestAccount } from '../../support/client.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';

const changed: string[] = [];
let lastSession: OwnerSession | undefined;

/** A page and a form that need a proof, and one with a parameter in its path. */
const vault: ListedFeature = {
  name: 'vault',
  pages(app: FastifyInstance, parts: PageParts) {
    app.register(async (scope) => {
      readForms(scope);
      const context = () => ({ base: '', mode: 'sandbox', assetUrl: (name: string) => name }) as const;
      addProblemPages({ setErrorHandler: scope.setErrorHandler.bind(scope), get: () => scope } as never, context);
      const shell = createShell(scope, { ...parts, context });
      shell.page('/app/vault', async ({ field, session }) => {
        lastSession = session;
        return {
          title: 'Vault',
          body: html`<p>${session.isProved ? 'proved' : 'not proved'}</p><form method="post">${field}</form>`,
        };
      });
      shell.page('/app/inner', async () => ({ title: 'Inner', body: html`<p>The inner vault</p>` }), { proof: true });
      const put = async (_visit: unknown, { what = '' }) => {
        changed.push(what);
        return '/app/vault';
      };
      shell.form('/app/vault', put, { proof: true });
      shell.page('/app/sample/:id', async ({ params, field }) => ({
        title: 'Approve',
        body: html`<p>Approve ${params['id']}</p><form method="post">${field}</form>`,
      }));
      shell.form('/app/sample/:id', async ({ params }) => `/app/vault?approved=${params['id']}`, { proof: true });
    });
  },
};

const service = useService({ features: [...features, vault] });

async function signedIn(): Promise<{ readonly owner: TestAccount; readonly browser: OwnerBrowser }> {
  const owner = await service.client.register();
  const browser = openOwnerBrowser(service.url);
  expect(await browser.signIn(owner)).toMatchObject({ status: 303, location: '/app' });
  return { owner, browser };
}

const age = (email: string, interval: string) =>
  service.database.db.query(
    `UPDATE owner_sessions SET proved_at = proved_at - $2::interval
      WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
    [email, interval],
  );

async function unproved() {
  const opened = await signedIn();
  await age(opened.owner.email, '5 minutes');
  return opened;
}

async function confirm(browser: OwnerBrowser, password: string, next = '/app/vault') {
  await browser.get(`/app/confirm?next=${encodeURIComponent(next)}`);
  return browser.submit('/app/confirm', { password });
}

const wasChanged = (what: string) => changed.includes(what);

describe('a form that needs a proof', () => {
  it('takes the sign-in as one for five minutes, and then changes nothing before the password is entered again', async () => {
    const { owner, browser } = await signedIn();
    await age(owner.email, '4 minutes 50 seconds');
    expect((await browser.get('/app/vault')).text).toContain('<p>proved</p>');
    expect(await browser.submit('/app/vault', { what: 'gold' })).toMatchObject({ status: 303, location: '/app/vault' });
    expect(wasChanged('gold')).toBe(true);

    await age(owner.email, '10 seconds');
    expect((await browser.get('/app/vault')).text).toContain('<p>not proved</p>');
    const asked = await browser.submit('/app/vault', { what: 'silver' });
    expect(asked).toMatchObject({ status: 303, location: '/app/confirm?next=%2Fapp%2Fvault' });
    expect(wasChanged('silver')).toBe(false);
    expect((await browser.get(asked.location ?? '')).text).toContain('Is it you?');
    expect((await browser.submit('/app/confirm', { password: owner.password })).location).toBe('/app/vault');
    await browser.get('/app/vault');
    await browser.submit('/app/vault', { what: 'silver' });
    expect(wasChanged('silver')).toBe(true);
    const { entries } = (await service.client.get('/account/audit?action=session.proved', owner.key)).body;
    expect(entries).toHaveLength(1);
  });

  it('is refused when it is forged, before anything is asked', async () => {
    const { browser } = await signedIn();
    await browser.get('/app/vault');
    const forged = await browser.submit('/app/vault', { what: 'bronze' }, { origin: 'https://evil.example' });
    expect(forged.status).toBe(403);
    expect((await browser.submit('/app/vault', { what: 'bronze', form: 'A'.repeat(43) })).status).toBe(403);
    expect(wasChanged('bronze')).toBe(false);
  });

  it('may have a parameter in its path and leads back to it', async () => {
    const { owner, browser } = await signedIn();
    const stranger = openOwnerBrowser(service.url);
    expect(await stranger.get('/app/sample/apr_1')).toMatchObject({
      status: 303,
      location: '/sign-in?next=%2Fapp%2Fsample%2Fapr_1',
    });
    await stranger.get('/sign-in?next=%2Fapp%2Fsample%2Fapr_1');
    expect((await stranger.submit('/sign-in', { ...owner })).location).toBe('/app/sample/apr_1');
    expect((await browser.get('/app/sample/apr_1')).text).toContain('<p>Approve apr_1</p>');
    expect((await browser.get('/app/sample/%00')).status).toBe(400);
    expect((await browser.submit('/app/sample/apr_1')).location).toBe('/app/vault?approved=apr_1');
    await age(owner.email, '5 minutes');
    expect((await browser.submit('/app/sample/apr_1')).location).toBe('/app/confirm?next=%2Fapp%2Fsample%2Fapr_1');
    // A browser that does not say where it came from, or came from elsewhere.
    for (const referer of ['', 'https://evil.example/app/sample/../../x', `${service.url}//evil.example`]) {
      expect((await browser.submit('/app/sample/apr_1', {}, { referer })).location, referer).toBe(
        '/app/confirm?next=%2Fapp',
      );
    }
  });
});

describe('a page that needs a proof', () => {
  it('is shown after the password, and asks nothing of an owner who has just entered it', async () => {
    const { owner, browser } = await unproved();
    expect((await browser.get('/app/inner')).location).toBe('/app/confirm?next=%2Fapp%2Finner');
    expect((await confirm(browser, owner.password, '/app/inner')).location).toBe('/app/inner');
    expect((await browser.get('/app/inner')).text).toContain('The inner vault');
    expect((await browser.get('/app/confirm?next=%2Fapp%2Finner')).location).toBe('/app/inner');
  });
});

describe('entering the password again', () => {
  it('says that it is wrong, records it, and is no proof', async () => {
    const { owner, browser } = await unproved();
    const page = await confirm(browser, 'wrong horse');
    expect(page.status).toBe(401);
    expect(page.text).toContain('This is not the password of your account.');
    expect(page.text).toContain('name="next" value="/app/vault"');
    expect((await browser.submit('/app/confirm', { password: '' })).status).toBe(400);
    expect((await browser.submit('/app/confirm', { password: 'x'.repeat(1025) })).status).toBe(400);
    expect((await browser.get('/app/vault')).text).toContain('<p>not proved</p>');
    const { entries } = (await service.client.get('/account/audit?action=sign_in.failed', owner.key)).body;
    expect(entries).toHaveLength(1);
  });

  it('is capped like signing in', async () => {
    const { owner, browser } = await unproved();
    await service.database.db.query(
      `UPDATE message_counts SET count = $2
        WHERE scope LIKE 'signIns:' || (SELECT id FROM accounts WHERE email = $1) || ':network:%'`,
      [owner.email, dailyCaps.signIns.most],
    );
    const page = await confirm(browser, owner.password);
    expect(page.status).toBe(429);
    expect(page.headers.get('retry-after')).not.toBeNull();
    expect((await browser.get('/app/vault')).text).toContain('<p>not proved</p>');
  });

  it('leads to a page of the owner and never to another site', async () => {
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/app/sample//evil.example',
      '/api/account',
      '/approve',
    ]) {
      const { owner, browser } = await unproved();
      const page = await browser.get(`/app/confirm?next=${encodeURIComponent(next)}`);
      expect(page.text).toContain('name="next" value="/app"');
      const done = await browser.submit('/app/confirm', { password: owner.password, next });
      expect(done.location, next).toBe('/app');
      expect((await browser.get(`/app/confirm?next=${encodeURIComponent(next)}`)).location, next).toBe('/app');
    }
  });

  it('is refused where it is forged', async () => {
    const { owner, browser } = await unproved();
    await browser.get('/app/confirm');
    const { password } = owner;
    expect((await browser.submit('/app/confirm', { password }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.get('/app/vault')).text).toContain('<p>not proved</p>');
  });

  it('proves nothing for a session that has ended, or with a password that was changed', async () => {
    const { owner, browser } = await unproved();
    await browser.get('/app/confirm');
    const newPassword = 'a newer horse';
    await service.client.post('/account/password', { currentPassword: owner.password, newPassword }, owner.key);
    expect((await browser.submit('/app/confirm', { password: newPassword })).location).toBe('/sign-in');
  });
});

describe('a proved session, held in a transaction', () => {
  it('is none when it is too old or has ended, and cannot end before the commit', async () => {
    const { owner, browser } = await signedIn();
    await browser.get('/app/vault');
    const session = lastSession as OwnerSession;
    const { db } = service.database;
    const hold = () => db.transaction((tx) => holdProvedSession(tx, session));
    expect(await hold()).toBe(true);
    await age(owner.email, '5 minutes');
    expect(await hold()).toBe(false);
    await confirm(browser, owner.password);
    expect(await hold()).toBe(true);

    const end = (lock = '') =>
      db.query(
        `UPDATE owner_sessions SET ended_at = now() WHERE id IN (SELECT id FROM owner_sessions WHERE id = $1 ${lock})`,
        [session.id],
      );
    await db.transaction(async (tx) => {
      expect(await holdProvedSession(tx, session)).toBe(true);
      await expect(end('FOR UPDATE NOWAIT')).rejects.toThrow(/could not obtain lock/);
    });
    await end();
    expect(await hold()).toBe(false);
  });
});

describe('guessing the password of a session', () => {
  const strict = useService({ env: { RATE_LIMIT_ANONYMOUS_PER_MINUTE: '5' } });

  it('is counted like signing in', async () => {
    const owner = await strict.client.register();
    const browser = openOwnerBrowser(strict.url);
    await browser.signIn(owner);
    await strict.database.db.query('UPDATE owner_sessions SET proved_at = NULL');
    await browser.get('/app/confirm');
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++)
      statuses.push((await browser.submit('/app/confirm', { password: `guess ${n}` })).status);
    expect(statuses.slice(0, 3)).toEqual([401, 401, 401]);
    expect(statuses.at(-1)).toBe(429);
    expect((await browser.submit('/app/confirm', { password: owner.password })).status).toBe(429);
    expect((await browser.get('/app')).status).toBe(200);
  });
});
