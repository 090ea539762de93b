import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { sandboxSecret } from '../../../sandbox/secret.ts';
import { addRemoveFactorCommand } from '../../../src/accounts/commands.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import type { TestAccount } from '../../support/client.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { type App, readRecoveryCodes, turnAppOn } from '../../support/second-factor.ts';
import { useService } from '../../support/service.ts';
import { mailedToken } from '../../support/verify-email.ts';

const service = useService();
const db = () => service.database.db;
const second = '/sign-in/second-step';

interface Secured {
  readonly owner: TestAccount;
  readonly browser: OwnerBrowser;
  readonly app: App;
}

async function secured(): Promise<Secured> {
  const owner = await service.client.register();
  const browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
  return { owner, browser, app: await turnAppOn(browser) };
}

const idSql = '(SELECT id FROM accounts WHERE handle = $1)';
const accountOf = async ({ handle }: TestAccount) =>
  (await db().query<{ id: bigint }>(`SELECT ${idSql} AS id`, [handle])).rows[0]?.id;
/** As if 30 seconds had passed that many times: codes that were used before would be new ones. */
const forgetUsed = ({ handle }: TestAccount) =>
  db().query(`UPDATE totp_secrets SET last_step = 0 WHERE account_id = ${idSql}`, [handle]);
const actionsOf = async ({ key }: TestAccount): Promise<string[]> =>
  (await service.client.get('/account/audit', key)).body.entries.map(({ action }: { action: string }) => action);
const subjectsOf = async ({ key }: TestAccount): Promise<string[]> =>
  (await service.client.get('/sandbox/messages', key)).body.messages.map(({ subject }: { subject: string }) => subject);
const isSignedIn = async (browser: OwnerBrowser) => (await browser.get('/app')).status === 200;
const viaApi = ({ email, password }: TestAccount, otp?: string) =>
  service.client.post('/agent/register', { email, password, ...(otp !== undefined && { otp }) });

describe('turning codes on', () => {
  it('takes a right code, shows ten recovery codes once, is recorded and mailed', async () => {
    const owner = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    await browser.get('/app/security');
    const setUp = await browser.submit('/app/security/codes/set-up');
    expect(setUp.text).toContain('otpauth://totp/Paywright:');
    expect(setUp.text).toContain('class="qr"');
    const wrong = await browser.submit('/app/security/codes/turn-on', { code: '000000x' });
    expect([wrong.status, wrong.text.includes('This code is wrong')]).toEqual([400, true]);
    expect((await viaApi(owner)).status).toBe(200);
    const app = await turnAppOn(browser);
    expect(new Set(app.recoveryCodes).size).toBe(10);
    expect((await browser.get('/app/security')).text).toContain('You have 10 left.');
    expect((await viaApi(owner)).status).toBe(401);
    expect(await actionsOf(owner)).toContain('totp.on');
    expect(await subjectsOf(owner)).toContain('Codes of an authenticator app are on');
    expect((await browser.submit('/app/security/codes/set-up')).status).toBe(409);
    expect((await browser.submit('/app/security/codes/turn-on', { code: app.code() })).status).toBe(409);
  });

  it('stores neither the secret nor a recovery code in the clear', async () => {
    const { owner, app } = await secured();
    const { rows } = await db().query<{ row: string }>(
      `SELECT row_to_json(t)::text AS row FROM totp_secrets t WHERE account_id = $1
       UNION ALL SELECT row_to_json(r)::text FROM recovery_codes r WHERE account_id = $1`,
      [await accountOf(owner)],
    );
    expect(rows).toHaveLength(11);
    for (const code of app.recoveryCodes) {
      const forms = [code, code.replace('-', '')].flatMap((one) => [one, Buffer.from(one).toString('hex')]);
      expect(rows.filter(({ row }) => forms.some((form) => row.includes(form)))).toEqual([]);
    }
  });

  it('needs a fresh proof for each change, and so does the page', async () => {
    const { owner, browser } = await secured();
    await db().query(`UPDATE owner_sessions SET proved_at = NULL WHERE account_id = ${idSql}`, [owner.handle]);
    const toConfirm = { status: 303, location: '/app/confirm?next=%2Fapp%2Fsecurity' };
    expect(await browser.get('/app/security')).toMatchObject(toConfirm);
    await browser.get('/app');
    for (const change of ['codes/turn-off', 'recovery-codes', 'passkeys/remove', 'passkeys/rename', 'passkeys/add'])
      expect((await browser.submit(`/app/security/${change}`)).location, change).toBe('/app/confirm?next=%2Fapp');
    expect((await viaApi(owner)).status).toBe(401);
  });
});

describe('signing in on the pages', () => {
  it('takes the code after the password, and the password alone opens nothing', async () => {
    const { owner, app } = await secured();
    const browser = openOwnerBrowser(service.url);
    const step = await browser.signIn(owner);
    expect([step.status, step.text.includes('One more step')]).toEqual([200, true]);
    expect(browser.cookies.has('paywright-session')).toBe(false);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await browser.submit(second, { otp: app.code() })).toMatchObject({ status: 303, location: '/app' });
    expect(await isSignedIn(browser)).toBe(true);
    const { entries } = (await service.client.get('/account/audit?action=session.started', owner.key)).body;
    expect(entries[0].details.with).toEqual(['password', 'totp']);
  });

  it('says nothing of a second factor before the password is right', async () => {
    const { owner, app } = await secured();
    const browser = openOwnerBrowser(service.url);
    const page = await browser.signIn({ ...owner, password: 'wrong horse' });
    expect([page.status, page.text.includes('One more step')]).toEqual([401, false]);
    const api = await viaApi({ ...owner, password: 'wrong horse' }, app.code());
    expect([api.status, api.body.code]).toEqual([401, 'wrong_password']);
  });

  it('refuses a wrong code, a used one, and one of another account', async () => {
    const { owner, app } = await secured();
    const stranger = await secured();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    for (const otp of ['000000', stranger.app.code(), stranger.app.recoveryCodes[0] ?? '', app.used]) {
      const page = await browser.submit(second, { otp });
      expect([page.status, page.text.includes('This code is wrong')], otp).toEqual([401, true]);
      expect(await isSignedIn(browser)).toBe(false);
    }
    expect((await actionsOf(owner)).filter((action) => action === 'second_factor.failed')).toHaveLength(4);
  });

  it('finishes only in the browser that began it, with the password that it began with', async () => {
    const { owner, app } = await secured();
    const browser = openOwnerBrowser(service.url);
    const step = await browser.signIn(owner);
    const [, pending = ''] = /name="pending" value="([^"]+)"/.exec(step.text) ?? [];
    const thief = openOwnerBrowser(service.url);
    await thief.get('/sign-in');
    for (const forged of [pending, '', 'AAAA', `${pending.slice(0, -4)}AAAA`]) {
      const page = await thief.submit(second, { otp: app.code(), pending: forged });
      expect([page.status, page.text.includes('One more step')], forged).toEqual([401, false]);
    }
    const newPassword = 'a newer horse';
    await service.client.post('/account/password', { currentPassword: owner.password, newPassword }, owner.key);
    expect((await browser.submit(second, { otp: app.code(), pending })).status).toBe(401);
    expect(await isSignedIn(browser)).toBe(false);
    await browser.signIn({ ...owner, password: newPassword });
    expect((await browser.submit(second, { otp: app.code() })).status).toBe(303);
    expect((await browser.get(second)).location).toBe('/sign-in');
  });

  it('is refused when the form is forged', async () => {
    const { owner, app } = await secured();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    expect((await browser.submit(second, { otp: app.code() }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.submit(second, { otp: app.code() })).status).toBe(303);
  });
});

describe('signing in over the API', () => {
  it('takes `otp`, a code or a recovery code, and refuses without it', async () => {
    const { owner, app } = await secured();
    const missing = await viaApi(owner);
    expect([missing.status, missing.body.code]).toEqual([401, 'second_factor_required']);
    const wrong = await viaApi(owner, '000000');
    expect([wrong.status, wrong.body.code]).toEqual([401, 'wrong_second_factor']);
    const right = await viaApi(owner, `${app.code().slice(0, 3)} ${app.code().slice(3)}`);
    expect([right.status, right.body.isNewAccount]).toEqual([200, false]);
    const [recovery = ''] = app.recoveryCodes;
    const { email, password } = owner;
    const circle = await service.client.post('/circle/register', { email, password, otp: recovery.toUpperCase() });
    expect(circle.status).toBe(200);
    expect((await viaApi(owner, recovery)).body.code).toBe('wrong_second_factor');
    expect(await actionsOf(owner)).toContain('recovery_code.used');
    expect(await subjectsOf(owner)).toContain('A recovery code was used');
  });

  it('accepts one code once, however many requests bring it at the same time', async () => {
    const { owner, app } = await secured();
    const bring = async (otp: string) => {
      const replies = await Promise.all(Array.from({ length: 4 }, () => viaApi(owner, otp)));
      return replies.map(({ status }) => status).toSorted();
    };
    expect(await bring(app.code())).toEqual([200, 401, 401, 401]);
    const { owner: other, app: second } = await secured();
    const [recovery = ''] = second.recoveryCodes;
    const replies = await Promise.all(Array.from({ length: 4 }, () => viaApi(other, recovery)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
  });

  it('asks nothing of an account without a second factor, and ignores what it sends', async () => {
    const owner = await service.client.register();
    expect((await viaApi(owner)).status).toBe(200);
    expect((await viaApi(owner, '123456')).status).toBe(200);
    expect((await viaApi(owner, 'x'.repeat(41))).status).toBe(400);
  });
});

describe('guessing codes', () => {
  it('ends after five, for the right code too; a key thief keeps nobody from signing in, nor does one without the password', async () => {
    const { owner, app } = await secured();
    const makeKey = (otp: string) =>
      service.client.post('/account/keys', { name: 'x', scopes: ['withdraw'], otp }, owner.key);
    for (let n = 0; n < 5; n++) expect((await makeKey('000000')).body.code).toBe('wrong_otp');
    expect((await makeKey(app.code())).body.code).toBe('too_many_attempts');
    for (let n = 0; n < 3; n++)
      expect((await viaApi({ ...owner, password: `wrong horse ${n}` }, '000000')).status).toBe(401);

    expect((await viaApi(owner, app.code())).status).toBe(200);
    for (let n = 0; n < 5; n++) expect((await viaApi(owner, '000000')).body.code).toBe('wrong_second_factor');
    const refused = await viaApi(owner, app.code(1));
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_attempts']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    const page = await browser.submit(second, { otp: app.code(1) });
    expect([page.status, page.text.includes('too many wrong codes')]).toEqual([429, true]);
    expect((await subjectsOf(owner)).filter((subject) => subject === 'Wrong codes for your account')).toHaveLength(2);
  });

  it('does not begin with an empty field', async () => {
    const { owner, app } = await secured();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    for (const otp of ['', ' ', '- -', '', '', '']) {
      const page = await browser.submit(second, { otp });
      expect([page.status, page.text.includes('Enter the code.')], otp).toEqual([401, true]);
      expect(page.text).toContain('One more step');
    }
    expect(await actionsOf(owner)).not.toContain('second_factor.failed');
    expect((await browser.submit(second, { otp: app.code() })).status).toBe(303);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('ends after thirty on a day', async () => {
    const { owner, app } = await secured();
    await db().query(
      `INSERT INTO message_counts (day, scope, count)
       VALUES ((now() AT TIME ZONE 'UTC')::date, 'wrongCodes:sign-in:account:' || ${idSql}, 30)`,
      [owner.handle],
    );
    expect((await viaApi(owner, app.code())).status).toBe(429);
  });
});

describe('proving to be there', () => {
  it('takes the code beside the password', async () => {
    const { owner, browser, app } = await secured();
    const forget = () =>
      db().query(`UPDATE owner_sessions SET proved_at = NULL WHERE account_id = ${idSql}`, [owner.handle]);
    await forget();
    const { password } = owner;
    expect((await browser.get('/app/confirm?next=%2Fapp%2Fsecurity')).text).toContain('name="otp"');
    const confirm = (fields: Readonly<Record<string, string>>) => browser.submit('/app/confirm', fields);
    const without = await confirm({ password });
    expect([without.status, without.text.includes('Enter a code as well.')]).toEqual([401, true]);
    expect((await confirm({ password, otp: '000000' })).status).toBe(401);
    expect((await confirm({ password: 'wrong horse', otp: app.code() })).status).toBe(401);
    expect((await confirm({ password: '', otp: app.code() })).status).toBe(400);
    expect((await browser.get('/app/security')).status).toBe(303);
    const otp = app.code();
    expect((await confirm({ password, otp })).location).toBe('/app/security');
    expect((await browser.get('/app/security')).status).toBe(200);
    // The same code again.
    await forget();
    await browser.get('/app/confirm?next=%2Fapp%2Fsecurity');
    expect((await confirm({ password, otp })).status).toBe(401);
    expect((await confirm({ password, otp: app.recoveryCodes[0] ?? '' })).location).toBe('/app/security');
  });
});

describe('a key alone', () => {
  it('makes no key that may withdraw, and one that may not as before', async () => {
    const { owner, app } = await secured();
    const make = (body: object) => service.client.post('/account/keys', { name: 'Agent', ...body }, owner.key);
    const missing = await make({ scopes: ['read', 'withdraw'] });
    expect([missing.status, missing.body.code]).toEqual([403, 'otp_required']);
    // Left out, they are those of the calling key.
    expect((await make({})).body.code).toBe('otp_required');
    expect((await make({ otp: '000000' })).body.code).toBe('wrong_otp');
    expect((await make({ scopes: ['read', 'pay', 'manage'] })).status).toBe(201);
    const otp = app.code();
    expect((await make({ otp })).status).toBe(201);
    expect((await make({ otp })).body.code).toBe('wrong_otp');
  });

  it('uses no code up where the key is refused for another reason', async () => {
    const { owner, app } = await secured();
    const otp = app.code();
    const make = (body: object) => service.client.post('/account/keys', { name: 'Agent', ...body }, owner.key);
    expect((await make({ otp, expiresAt: '2020-01-01T00:00:00Z' })).status).toBe(400);
    expect((await make({ otp })).status).toBe(201);
  });

  it('does not switch off the allow-list', async () => {
    const { owner, app } = await secured();
    const path = '/account/withdrawal-addresses/allow-list';
    const put = (body: object) => service.client.request('PUT', path, { key: owner.key, body });
    expect((await put({ enabled: true })).status).toBe(200);
    const missing = await put({ enabled: false });
    expect([missing.status, missing.body.code]).toEqual([403, 'otp_required']);
    expect((await put({ enabled: false, otp: '000000' })).body.code).toBe('wrong_otp');
    const { body } = await service.client.get('/account/withdrawal-addresses', owner.key);
    expect(body).toMatchObject({ enabled: true, offFrom: null });
    expect((await put({ enabled: false, otp: app.code() })).body).toMatchObject({ offFrom: expect.any(String) });
    const plain = await service.client.register();
    expect((await service.client.request('PUT', path, { key: plain.key, body: { enabled: false } })).status).toBe(200);
  });
});

describe('recovery codes', () => {
  it('can be made anew, and then the earlier ones are void', async () => {
    const { owner, browser, app } = await secured();
    const made = readRecoveryCodes((await browser.submit('/app/security/recovery-codes')).text);
    expect(made).toHaveLength(10);
    expect(made.filter((code) => app.recoveryCodes.includes(code))).toEqual([]);
    expect((await viaApi(owner, app.recoveryCodes[0])).status).toBe(401);
    expect((await viaApi(owner, made[0])).status).toBe(200);
    expect((await browser.get('/app/security')).text).toContain('You have 9 left.');
    expect(await actionsOf(owner)).toContain('recovery_codes.made');
    expect(await subjectsOf(owner)).toContain('New recovery codes were made');
  });

  it('are none without a second factor, and go with the last one', async () => {
    const plain = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(plain);
    await browser.get('/app/security');
    expect((await browser.submit('/app/security/recovery-codes')).status).toBe(409);

    const { owner, browser: own } = await secured();
    await own.get('/app/security');
    expect((await own.submit('/app/security/codes/turn-off')).location).toBe('/app/security');
    const { rowCount } = await db().query(`SELECT FROM recovery_codes WHERE account_id = ${idSql}`, [owner.handle]);
    expect(rowCount).toBe(0);
    expect((await viaApi(owner)).status).toBe(200);
    expect(await actionsOf(owner)).toContain('totp.off');
    expect(await subjectsOf(owner)).toContain('Codes of an authenticator app are off');
  });
});

describe('the second factor', () => {
  it('still stands after the password was reset', async () => {
    const { owner, app } = await secured();
    await service.client.post('/account/password/reset', { email: owner.email });
    const token = await mailedToken(service.client, owner.key);
    const newPassword = 'a newer horse';
    const reset = await service.client.post('/account/password/reset/confirm', { token, newPassword });
    expect(reset.status).toBe(200);
    expect((await viaApi({ ...owner, password: newPassword })).body.code).toBe('second_factor_required');
    expect((await viaApi({ ...owner, password: newPassword }, app.code())).status).toBe(200);
  });

  it('is not skipped by a sign-in that runs while it is turned on', async () => {
    const owner = await service.client.register();
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    const [, ...replies] = await Promise.all([turnAppOn(browser), ...Array.from({ length: 5 }, () => viaApi(owner))]);
    const { rows } = await db().query<{ early: boolean }>(
      `SELECT bool_and(k.created_at <= t.active_at) AS early FROM api_keys k JOIN totp_secrets t USING (account_id)
        WHERE k.account_id = ${idSql}`,
      [owner.handle],
    );
    expect(replies.every(({ status }) => status === 200 || status === 401)).toBe(true);
    expect(rows[0]?.early).toBe(true);
    expect((await viaApi(owner)).status).toBe(401);
  });

  it('is removed by the operator, who is recorded, and the owner is mailed', async () => {
    const { owner } = await secured();
    const said: string[] = [];
    const program = new Command();
    addRemoveFactorCommand(program, {
      withDatabase: async () => {},
      withSecrets: async (work) => work({ db: db(), secrets: createSecrets(await sandboxSecret(db())) }),
      say: (line) => void said.push(line),
      operator: 'grace',
    });
    const remove = () => program.parseAsync(['remove-second-factor', owner.handle], { from: 'user' });
    await remove();
    expect((await viaApi(owner)).status).toBe(200);
    const { entries } = (await service.client.get('/account/audit?action=second_factor.removed', owner.key)).body;
    expect(entries).toHaveLength(1);
    expect(await subjectsOf(owner)).toContain('Your second factor was removed');
    await remove();
    expect(said).toEqual([`${owner.handle} has no second factor any more.`, `${owner.handle} had no second factor.`]);
  });

  it('goes when the account is closed', async () => {
    const { owner } = await secured();
    const id = await accountOf(owner);
    expect((await service.client.post('/account/close', { password: owner.password }, owner.key)).status).toBe(200);
    for (const table of ['totp_secrets', 'recovery_codes', 'passkeys']) {
      const { rowCount } = await db().query(`SELECT FROM ${table} WHERE account_id = $1`, [id]);
      expect(rowCount, table).toBe(0);
    }
  });

  it('is not touched by revoking all keys', async () => {
    const { owner, app } = await secured();
    await service.client.post('/account/keys/revoke-all', undefined, owner.key);
    expect((await viaApi(owner)).body.code).toBe('second_factor_required');
    await forgetUsed(owner);
    expect((await viaApi(owner, app.code())).status).toBe(200);
  });
});
