import { Command } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { addGiveKeyCommand } from '../../../src/accounts/keys/key-commands.ts';
import { createFailureRecorder } from '../../../src/accounts/passwords/require-password.ts';
import { issueResetToken } from '../../../src/accounts/passwords/reset-token.ts';
import { main } from '../../../src/app/cli.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createMemoryLimiter } from '../../../src/kernel/rate-limit/memory-limiter.ts';
import { createSecrets, type Secrets } from '../../../src/kernel/secrets/secrets.ts';
import { freshEmail, type Reply, type TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';
import { mailedToken, registerVerified, tokenIn } from '../../support/verify-email.ts';

const secret = 'a secret that is only good for the tests of passwords';
const said: string[] = [];
const service = useService({
  env: {
    SANDBOX_AUTO_VERIFY: 'false',
    PAYWRIGHT_SECRET: secret,
    TRUSTED_PROXIES: '127.0.0.1',
  },
  settings: { accounts: { longestDelayMs: 1_000 } },
  say: (line) => said.push(line),
});
const secrets: Secrets = createSecrets(secret);
const newPassword = 'a newer horse';

const ask = (email: string) => service.client.post('/account/password/reset', { email });
const confirm = (token: string, more: object = {}) =>
  service.client.post('/account/password/reset/confirm', { token, newPassword, ...more });
const signIn = (email: string, password: string) => service.client.post('/agent/register', { email, password });
const codeOf = ({ status, body }: Reply) => [status, body.code];

async function askForToken({ email, key }: TestAccount): Promise<string> {
  expect((await ask(email)).body.asked).toBe(true);
  return mailedToken(service.client, key);
}

/** Nobody has proved the mailbox: only its console shows what was sent there. */
async function tokenSentTo(email: string, count = 1): Promise<string> {
  const mails = () => said.filter((line) => line.startsWith(`Mail to ${email}: Someone`));
  await expect.poll(() => mails().length).toBe(count);
  return tokenIn(mails().at(-1) ?? '') ?? '';
}

async function subjectsOf({ key }: TestAccount): Promise<string[]> {
  const { body } = await service.client.get('/sandbox/messages', key);
  return body.messages.map(({ subject }: { subject: string }) => subject);
}

async function actionsOf(key: string): Promise<string[]> {
  const { body } = await service.client.get('/account/audit', key);
  return body.entries.map(({ action }: { action: string }) => action);
}

describe('changing the password', () => {
  test('needs the present one, is mailed to the owner, and leaves keys alone unless asked', async () => {
    const owner = await registerVerified(service.client);
    const change = { currentPassword: owner.password, newPassword };
    const wrong = await service.client.post(
      '/account/password',
      { ...change, currentPassword: 'wrong horse' },
      owner.key,
    );
    expect(codeOf(wrong)).toEqual([401, 'wrong_password']);
    const weak = await service.client.post('/account/password', { ...change, newPassword: owner.email }, owner.key);
    expect(codeOf(weak)).toEqual([400, 'password_too_common']);
    expect((await signIn(owner.email, owner.password)).status).toBe(200);

    const changed = await service.client.post('/account/password', change, owner.key);
    expect(changed.body).toEqual({ changed: true, revokedKeys: 0, keysLeft: 2, webhooks: [] });
    expect(codeOf(await signIn(owner.email, owner.password))).toEqual([401, 'wrong_password']);
    expect((await signIn(owner.email, newPassword)).status).toBe(200);
    expect(await subjectsOf(owner)).toContain('Your Paywright password was changed');
    expect(await actionsOf(owner.key)).toEqual([
      'sign_in.succeeded',
      'sign_in.failed',
      'password.changed',
      'sign_in.succeeded',
      'sign_in.failed',
      'email.verified',
      'account.registered',
    ]);
  });

  test('ends every key if asked, the calling one too', async () => {
    const owner = await registerVerified(service.client);
    const second = (await signIn(owner.email, owner.password)).body.apiKey;
    const change = { currentPassword: owner.password, newPassword, revokeKeys: true };
    const { body } = await service.client.post('/account/password', change, owner.key);
    expect(body).toEqual({ changed: true, revokedKeys: 2, keysLeft: 0, webhooks: [] });
    for (const key of [owner.key, second]) expect((await service.client.get('/account', key)).status).toBe(401);
    expect((await signIn(owner.email, newPassword)).status).toBe(200);
  });

  test('a sign-in that has looked at the old password by then is refused, not given a key that outlives the others', async () => {
    const owner = await registerVerified(service.client);
    const { db } = service.database;
    const signingIn = await db.transaction(async (tx) => {
      await tx.query("UPDATE accounts SET password_hash = '-' WHERE email = $1", [owner.email]);
      const reply = signIn(owner.email, owner.password);
      const blocked = async () => {
        // A transaction that stays silent for long is ended.
        await tx.query('SELECT');
        const { rowCount } = await db.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount;
      };
      await expect.poll(blocked, { interval: 20 }).toBe(1);
      return { reply };
    });
    expect(codeOf(await signingIn.reply)).toEqual([401, 'wrong_password']);
  });

  test('two at once: one password holds, and no key is made with the old one afterwards', async () => {
    const owner = await registerVerified(service.client);
    const change = (word: string) =>
      service.client.post(
        '/account/password',
        { currentPassword: owner.password, newPassword: word, revokeKeys: true },
        owner.key,
      );
    const [first, second, ...keys] = await Promise.all([
      change('the first horse'),
      change('the second horse'),
      ...Array.from({ length: 4 }, () => signIn(owner.email, owner.password)),
    ]);
    const winner = first?.status === 200 ? 'the first horse' : 'the second horse';
    expect([first?.status, second?.status].sort()).toEqual([200, 401]);
    for (const { status, body } of keys) {
      expect([200, 401]).toContain(status);
      if (status === 200) expect((await service.client.get('/account', body.apiKey)).status).toBe(401);
    }
    expect((await signIn(owner.email, winner)).status).toBe(200);
  });
});

describe('a forgotten password', () => {
  test('is set anew with a token from the mail, once, and the token is nowhere but in the mail', async () => {
    const owner = await registerVerified(service.client);
    const token = await askForToken(owner);
    expect(token).toMatch(/^pwr_[0-9A-Za-z]{43}$/);
    expect(codeOf(await confirm(token, { newPassword: 'password1' }))).toEqual([400, 'password_too_common']);
    const { rows } = await service.database.db.query('SELECT r::text AS row FROM password_resets r');
    expect(JSON.stringify(rows)).not.toContain(token.slice(4));

    const { status, body } = await confirm(token);
    expect(status).toBe(200);
    expect(body).toEqual({
      changed: true,
      revokedKeys: 0,
      keysLeft: 1,
      webhooks: [],
      handle: owner.handle,
      isNewAccount: false,
    });
    expect((await signIn(owner.email, newPassword)).status).toBe(200);
    expect(codeOf(await confirm(token))).toEqual([400, 'reset_token_invalid']);
    const actions = await actionsOf(owner.key);
    expect(actions).toEqual(expect.arrayContaining(['password.reset', 'password.reset_asked']));
    expect((await subjectsOf(owner)).slice(0, 2)).toEqual([
      'Your Paywright password was changed',
      'A new password for Paywright',
    ]);
  });

  test('ends all keys if asked', async () => {
    const owner = await registerVerified(service.client);
    const { body } = await confirm(await askForToken(owner), { revokeKeys: true });
    expect(body).toMatchObject({ revokedKeys: 1, keysLeft: 0 });
    expect((await service.client.get('/account', owner.key)).status).toBe(401);
  });

  test('of two who use a token at once one does', async () => {
    const owner = await registerVerified(service.client);
    const token = await askForToken(owner);
    const words = ['the first horse', 'the second horse', 'the third horse'];
    const replies = await Promise.all(words.map((word) => confirm(token, { newPassword: word })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    const signedIn = await Promise.all(words.map((word) => signIn(owner.email, word)));
    expect(signedIn.map(({ status }) => status)).toEqual(replies.map(({ status }) => (status === 200 ? 200 : 401)));
  });

  test('wrong, expired, replaced and overtaken tokens are told apart by nobody', async () => {
    const owner = await registerVerified(service.client);
    const first = await askForToken(owner);
    const { rows } = await service.database.db.query<{ id: bigint }>('SELECT id FROM accounts WHERE email = $1', [
      owner.email,
    ]);
    const reset = { accountId: rows[0]?.id ?? 0n, kind: 'reset' as const };
    const issue = () => service.database.db.transaction((tx) => issueResetToken(tx, secrets, reset));
    const second = await issue();
    const tried = [await confirm(first), await confirm('pwr_x'), await confirm(''), await confirm(owner.key)];
    await service.database.db.query("UPDATE password_resets SET expires_at = now() - interval '1 second'");
    tried.push(await confirm(second));
    const third = await issue();
    const change = { currentPassword: owner.password, newPassword: 'another horse' };
    expect((await service.client.post('/account/password', change, owner.key)).status).toBe(200);
    tried.push(await confirm(third));
    const [shape] = tried;
    for (const { status, body } of tried) {
      expect({ ...body, requestId: '' }).toEqual({ ...shape?.body, requestId: '' });
      expect([status, body.code]).toEqual([400, 'reset_token_invalid']);
    }
  });

  test('is set anew also while a thief who knows it changes it again and again', async () => {
    const owner = await registerVerified(service.client);
    let word = owner.password;
    const changeIt = async (next: string) => {
      const change = { currentPassword: word, newPassword: next };
      const reply = await service.client.post('/account/password', change, owner.key);
      if (reply.status === 200) word = next;
      return codeOf(reply);
    };
    const first = await askForToken(owner);
    for (const next of ['one thief’s horse', 'two thief’s horse', 'three thief’s horse'])
      expect(await changeIt(next)).toEqual([200, undefined]);
    expect(codeOf(await confirm(first))).toEqual([400, 'reset_token_invalid']);
    await ask(owner.email);
    const tokens = async () =>
      (await subjectsOf(owner)).filter((subject) => subject === 'A new password for Paywright');
    await expect.poll(async () => (await tokens()).length).toBe(2);
    const second = await mailedToken(service.client, owner.key);
    expect(await changeIt('four thief’s horse')).toEqual([429, 'too_many_attempts']);
    expect((await confirm(second, { revokeKeys: true })).status).toBe(200);
    expect(codeOf(await signIn(owner.email, word))).toEqual([401, 'wrong_password']);
    expect((await signIn(owner.email, newPassword)).status).toBe(200);
  });

  test('is asked for with the same answer whoever has the email', async () => {
    const verified = await registerVerified(service.client);
    const unverified = await service.client.register();
    const replies = await Promise.all([verified.email, unverified.email, freshEmail()].map(ask));
    const [first] = replies;
    for (const { status, body, headers } of replies) {
      expect([status, body]).toEqual([200, first?.body]);
      expect([...headers.keys()]).toEqual([...(first?.headers.keys() ?? [])]);
    }
    expect(codeOf(await ask('nobody'))).toEqual([400, 'invalid_request']);
  });

  test('fills nobody’s mailbox, and what is in it opens the account', async () => {
    const owner = await registerVerified(service.client);
    for (let i = 0; i < 8; i++) await ask(owner.email);
    const mails = async () => (await subjectsOf(owner)).filter((subject) => subject === 'A new password for Paywright');
    const waiting = async () => {
      const { rows } = await service.database.db.query<{ count: number }>(
        "SELECT count(*)::integer AS count FROM graphile_worker.jobs WHERE task_identifier = 'mail-password-reset'",
      );
      return rows[0]?.count;
    };
    await expect.poll(waiting).toBe(0);
    expect(await mails()).toHaveLength(3);
    await service.database.db.query("UPDATE password_resets SET created_at = now() - interval '16 minutes'");
    await ask(owner.email);
    await expect.poll(waiting).toBe(0);
    expect(await mails()).toHaveLength(4);
    expect((await confirm(await mailedToken(service.client, owner.key))).status).toBe(200);
  });
});

describe('an email that was never verified', () => {
  test('goes to whoever proves the mailbox; the other account keeps handle, keys and money and sees nothing of it', async () => {
    const squatter = await service.client.register({ name: 'Squatter' });
    await service.client.post('/sandbox/fund', { amount: 25 }, squatter.key);
    await ask(squatter.email);
    const token = await tokenSentTo(squatter.email);
    // Not among the messages of who registered it.
    expect(await subjectsOf(squatter)).toEqual(['Your Paywright code']);

    const { status, body } = await confirm(token, { name: 'Owner' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ changed: true, isNewAccount: true, keysLeft: 0 });
    expect(body.handle).not.toBe(squatter.handle);
    const owner = await signIn(squatter.email, newPassword);
    expect([owner.status, owner.body.agentHandle]).toEqual([200, body.handle]);
    const profile = (await service.client.get('/account', owner.body.apiKey)).body;
    expect(profile).toMatchObject({ email: squatter.email, emailVerified: true, name: 'Owner', handle: body.handle });
    const balances = (await service.client.get('/circle/balance', owner.body.apiKey)).body;
    expect(JSON.stringify(balances)).not.toContain('25');

    expect(codeOf(await signIn(squatter.email, squatter.password))).toEqual([401, 'wrong_password']);
    const before = (await service.client.get('/account', squatter.key)).body;
    expect(before).toMatchObject({ email: null, emailVerified: false, handle: squatter.handle, name: 'Squatter' });
    const paid = await service.client.request('POST', '/agent/transfer', {
      key: squatter.key,
      body: { to: body.handle, amount: 20, currency: 'USDC' },
      headers: { 'idempotency-key': 'money is still there' },
    });
    expect(paid.status).toBe(200);
    expect(codeOf(await service.client.post('/account/email/code', undefined, squatter.key))).toEqual([
      400,
      'no_code_waiting',
    ]);
    const audit = (await service.client.get('/account/audit', squatter.key)).body.entries;
    expect(audit.slice(0, 2)).toMatchObject([
      { action: 'email.yielded', address: null },
      { action: 'password.reset_asked', address: null },
    ]);
    const found = await service.client.get(`/circle/lookup?email=${squatter.email}`, squatter.key);
    expect(found.body.handle).toBe(body.handle);
  });

  test('goes also while whoever registered it changes the password', async () => {
    const squatter = await service.client.register();
    await ask(squatter.email);
    const token = await tokenSentTo(squatter.email);
    const change = { currentPassword: squatter.password, newPassword: 'a squatter’s horse' };
    expect((await service.client.post('/account/password', change, squatter.key)).status).toBe(200);
    expect((await confirm(token)).body).toMatchObject({ isNewAccount: true });
    expect((await signIn(squatter.email, newPassword)).status).toBe(200);
  });

  test('stays where it was verified, also if a token was left', async () => {
    const owner = await service.client.register();
    await ask(owner.email);
    const token = await tokenSentTo(owner.email);
    await service.database.db.query('UPDATE accounts SET email_verified_at = now() WHERE handle = $1', [owner.handle]);
    expect(codeOf(await confirm(token))).toEqual([400, 'reset_token_invalid']);
    expect((await service.client.get('/account', owner.key)).body.email).toBe(owner.email);
  });

  test('without a name the new account has the part before the @', async () => {
    const squatter = await service.client.register();
    await ask(squatter.email);
    await confirm(await tokenSentTo(squatter.email));
    const { apiKey } = (await signIn(squatter.email, newPassword)).body;
    expect((await service.client.get('/account', apiKey)).body.name).toBe(squatter.email.split('@')[0]);
  });

  test('verified and claimed at the same moment it is one account’s, and the other is told so', async () => {
    for (let round = 0; round < 4; round++) {
      const first = await service.client.register();
      const { body } = await service.client.get('/sandbox/messages', first.key);
      await ask(first.email);
      const token = await tokenSentTo(first.email);
      const [verified, claimed] = await Promise.all([
        service.client.post('/account/email/verify', { code: body.messages[0].text.slice(0, 6) }, first.key),
        confirm(token),
      ]);
      expect([codeOf(verified), codeOf(claimed)]).toEqual(
        verified.status === 200
          ? [
              [200, undefined],
              [400, 'reset_token_invalid'],
            ]
          : [
              [400, 'no_code_waiting'],
              [200, undefined],
            ],
      );
      const { rows } = await service.database.db.query<{ handle: string; verified: boolean }>(
        'SELECT handle, email_verified_at IS NOT NULL AS verified FROM accounts WHERE email = $1',
        [first.email],
      );
      expect(rows).toEqual([{ handle: verified.status === 200 ? first.handle : claimed.body.handle, verified: true }]);
    }
  });
});

describe('the operator', () => {
  afterEach(() => void vi.unstubAllEnvs());

  async function paywright(...args: string[]): Promise<string[]> {
    vi.stubEnv('DATABASE_URL', service.database.url);
    vi.stubEnv('PAYWRIGHT_SECRET', secret);
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await main(['node', 'paywright', ...args], process.ppid);
    const lines = written.mock.calls.map(([text]) => String(text).trimEnd());
    written.mockRestore();
    return lines;
  }

  test('lets a token be mailed, or shows one for an owner who has lost the mailbox', async () => {
    const owner = await registerVerified(service.client);
    await paywright('account', 'reset-password', owner.handle);
    const mailed = await mailedToken(service.client, owner.key);
    const [shown = ''] = await paywright('account', 'reset-password', owner.email, '--show');
    expect(codeOf(await confirm(mailed))).toEqual([400, 'reset_token_invalid']);
    expect((await confirm(shown)).body.handle).toBe(owner.handle);
    const { body } = await service.client.get('/account/audit?action=password.reset_asked', owner.key);
    expect(body.entries).toMatchObject([
      { byOperator: true, details: { shownToOperator: true } },
      { byOperator: true, details: {} },
    ]);
    const { rows } = await service.database.db.query('SELECT a::text AS entry FROM audit_log a');
    expect(JSON.stringify(rows)).not.toContain('pwr_');
  });

  test('gives an owner whose email went to somebody else a key again, and nobody who can sign in', async () => {
    const { db } = service.database;
    const lines: string[] = [];
    const giveKey = (who: string) => {
      const program = new Command('paywright').exitOverride();
      addGiveKeyCommand(program, {
        withSecrets: (work) => work({ db, secrets }),
        say: (line) => void lines.push(line),
        operator: 'olga',
      });
      return program.parseAsync(['node', 'paywright', 'give-key', who]);
    };
    const before = await service.client.register();
    await expect(giveKey(before.handle)).rejects.toThrow('has an email');
    await ask(before.email);
    await confirm(await tokenSentTo(before.email));
    await service.client.post('/account/keys/revoke-all', undefined, before.key);
    await giveKey(before.handle);
    const [key = ''] = lines;
    expect((await service.client.get('/account', key)).body).toMatchObject({ handle: before.handle, email: null });
    const { body } = await service.client.get('/account/audit', key);
    expect(body.entries[0]).toMatchObject({ action: 'key.created', byOperator: true, keyId: null });
  });
});

test('failures are written down with their address, twenty an hour of one network, and the last one says so', async () => {
  const owner = await registerVerified(service.client);
  const { rows } = await service.database.db.query<{ id: bigint }>('SELECT id FROM accounts WHERE email = $1', [
    owner.email,
  ]);
  const note = createFailureRecorder({ db: service.database.db, limiter: createMemoryLimiter(systemClock) });
  const accountId = rows[0]?.id ?? 0n;
  for (let i = 0; i < 25; i++) await note({ accountId, by: { address: '198.51.100.7' } });
  await note({ accountId, by: { address: '203.0.113.9' } });
  const { body } = await service.client.get('/account/audit?action=sign_in.failed&limit=100', owner.key);
  const from = (address: string) => body.entries.filter((entry: { address: string }) => entry.address === address);
  expect(from('203.0.113.9')).toMatchObject([{ details: {} }]);
  expect(from('198.51.100.7')).toHaveLength(20);
  expect(from('198.51.100.7').filter(({ details }: { details: { more?: string } }) => details.more)).toHaveLength(1);
});

test('an owner is mailed when somebody signs in from a network that nobody came from before, and not each time', async () => {
  const owner = await registerVerified(service.client);
  const signInAt = (ip: string, password = owner.password) =>
    service.client.request('POST', '/agent/register', {
      body: { email: owner.email, password },
      headers: { 'x-forwarded-for': ip },
    });
  const told = async () => (await subjectsOf(owner)).filter((subject) => subject.startsWith('New sign-in')).length;
  expect((await signIn(owner.email, owner.password)).status).toBe(200);
  expect(await told()).toBe(0);
  expect((await signInAt('198.51.100.7', 'wrong horse')).status).toBe(401);
  const { body } = await signInAt('198.51.100.7');
  expect(await told()).toBe(1);
  const [mail] = (await service.client.get('/sandbox/messages', owner.key)).body.messages;
  expect(mail.text).toContain(`from 198.51.100.7`);
  expect(mail.text).toContain(body.apiKey.slice(-4));
  await signInAt('198.51.100.7');
  for (const ip of ['2001:db8:1:1::1', '2001:db8:1:1::2']) await signInAt(ip);
  expect(await told()).toBe(2);
});
