import { describe, expect, test } from 'vitest';
import { freshEmail, type Reply, type TestAccount } from '../../support/client.ts';
import { startService, useService } from '../../support/service.ts';
import { mailedToken, registerVerified } from '../../support/verify-email.ts';

const service = useService({ env: { SANDBOX_AUTO_VERIFY: 'false' } });
const db = () => service.database.db;

const ask = ({ key, password }: TestAccount, email: string, given = password) =>
  service.client.post('/account/email', { email, password: given }, key);
const confirm = ({ key }: TestAccount, codes: object) => service.client.post('/account/email/confirm', codes, key);
const profileOf = async ({ key }: TestAccount) => (await service.client.get('/account', key)).body;
const signIn = (email: string, { password }: TestAccount) =>
  service.client.post('/agent/register', { email, password });
const outcome = ({ status, body }: Reply) => [status, body.code];
const wrong = (code: string) => (code === '000000' ? '000001' : '000000');

interface Mail {
  readonly to: string;
  readonly text: string;
  readonly subject: string;
}
const mailsTo = async ({ key }: TestAccount, to: string): Promise<Mail[]> =>
  (await service.client.get('/sandbox/messages', key)).body.messages.filter((mail: Mail) => mail.to === to);
const codeTo = async (account: TestAccount, to: string) => (await mailsTo(account, to))[0]?.text.slice(0, 6) ?? '';

/** Asks, and answers both codes. */
async function asked(account: TestAccount, email: string) {
  expect((await ask(account, email)).status).toBe(200);
  return { code: await codeTo(account, email), currentCode: await codeTo(account, account.email) };
}

describe('a new email', () => {
  test('is the account’s once the codes from both addresses are there', async () => {
    const account = await registerVerified(service.client);
    const email = freshEmail();
    const reply = await ask(account, email.toUpperCase());
    expect(reply.body).toEqual({ changed: false, currentCodeNeeded: true, expiresAt: expect.any(String) });
    expect(await profileOf(account)).toMatchObject({ email: account.email, pendingEmail: email });
    expect((await signIn(email, account)).status).toBe(400);

    const codes = { code: await codeTo(account, email), currentCode: await codeTo(account, account.email) };
    const done = await confirm(account, codes);
    expect([done.status, done.body.email, done.body.emailVerified, done.body.pendingEmail]).toEqual([
      200,
      email,
      true,
      null,
    ]);
    expect((await signIn(email, account)).body.agentHandle).toBe(account.handle);
    expect((await service.client.get(`/circle/lookup?email=${email}`, account.key)).body.handle).toBe(account.handle);
    expect((await service.client.get(`/circle/lookup?email=${account.email}`, account.key)).status).toBe(404);

    const [notice] = await mailsTo(account, account.email);
    expect(notice?.subject).toBe('The email of your Paywright account was changed');
    const { body } = await service.client.get('/account/audit?action=email.changed', account.key);
    expect(body.entries).toHaveLength(1);
    expect(JSON.stringify(body)).not.toContain(email);
    expect((await confirm(account, codes)).body.code).toBe('no_code_waiting');
  });

  test('needs no code from an address that was never verified', async () => {
    const account = await service.client.register();
    const email = freshEmail();
    expect((await ask(account, email)).body.currentCodeNeeded).toBe(false);
    expect(await mailsTo(account, account.email)).toHaveLength(1);
    expect((await confirm(account, { code: await codeTo(account, email) })).body).toMatchObject({
      email,
      emailVerified: true,
    });
    expect((await mailsTo(account, account.email)).map(({ subject }) => subject)).toEqual(['Your Paywright code']);
  });

  test('that was asked for without such a code is forgotten when the address is verified', async () => {
    const account = await service.client.register();
    const code = await codeTo(account, account.email);
    const { code: late } = await asked(account, freshEmail());
    expect((await service.client.post('/account/email/verify', { code }, account.key)).status).toBe(200);
    expect((await confirm(account, { code: late })).body.code).toBe('no_code_waiting');
  });

  test('needs the password, and is not the present one', async () => {
    const account = await registerVerified(service.client);
    expect(outcome(await ask(account, freshEmail(), 'not the password'))).toEqual([401, 'wrong_password']);
    expect(outcome(await ask(account, account.email))).toEqual([400, 'invalid_request']);
    expect(outcome(await ask(account, 'nobody'))).toEqual([400, 'invalid_request']);
    expect((await profileOf(account)).pendingEmail).toBeNull();
    const { body } = await service.client.get('/account/audit?action=sign_in.failed', account.key);
    expect(body.entries).toHaveLength(1);
  });

  test('can be taken back', async () => {
    const account = await registerVerified(service.client);
    const codes = await asked(account, freshEmail());
    const cancel = () => service.client.request('DELETE', '/account/email', { key: account.key });
    expect([(await cancel()).body, (await cancel()).body]).toEqual([{ pendingEmail: null }, { pendingEmail: null }]);
    expect((await profileOf(account)).pendingEmail).toBeNull();
    expect((await confirm(account, codes)).body.code).toBe('no_code_waiting');
  });

  test('is forgotten when the password changes: who asked for it may be a thief', async () => {
    const account = await registerVerified(service.client);
    const codes = await asked(account, freshEmail());
    const change = { currentPassword: account.password, newPassword: 'a longer horse battery' };
    expect((await service.client.post('/account/password', change, account.key)).status).toBe(200);
    expect((await confirm(account, codes)).body.code).toBe('no_code_waiting');
  });

  test('happens at once in a sandbox that verifies by itself', async () => {
    const automatic = await startService(service.database, { roles: { serve: true, work: false } });
    try {
      const [one, other] = [await automatic.client.register(), await automatic.client.register()];
      const email = freshEmail();
      const change = (to: string) =>
        automatic.client.post('/account/email', { email: to, password: one.password }, one.key);
      expect((await change(email)).body).toEqual({ changed: true, currentCodeNeeded: false, expiresAt: null });
      expect((await automatic.client.get('/account', one.key)).body).toMatchObject({ email, emailVerified: true });
      expect(outcome(await change(other.email))).toEqual([409, 'email_taken']);
    } finally {
      await automatic.stop();
    }
  });
});

describe('codes', () => {
  test('both have to be right; five attempts, however many come at once', async () => {
    const account = await registerVerified(service.client);
    const { code, currentCode } = await asked(account, freshEmail());
    expect(outcome(await confirm(account, { code }))).toEqual([400, 'invalid_request']);
    const halfRight = [
      { code, currentCode: wrong(currentCode) },
      { code: wrong(code), currentCode },
    ];
    const messages = [];
    for (const codes of halfRight) messages.push((await confirm(account, codes)).body.detail);
    expect(messages).toEqual([
      'The codes do not match the ones that were sent. Attempts left: 4.',
      'The codes do not match the ones that were sent. Attempts left: 3.',
    ]);
    const many = await Promise.all(Array.from({ length: 8 }, () => confirm(account, halfRight[0] ?? {})));
    expect(many.filter(({ body }) => body.code === 'wrong_code')).toHaveLength(3);
    expect((await confirm(account, { code, currentCode })).body.code).toBe('no_code_waiting');
  });

  test('the two are not each other’s, and those of an earlier wish are worth nothing', async () => {
    const account = await registerVerified(service.client);
    const first = await asked(account, freshEmail());
    const second = await asked(account, freshEmail());
    expect((await confirm(account, first)).body.code).toBe('wrong_code');
    expect((await confirm(account, { code: second.currentCode, currentCode: second.code })).body.code).toBe(
      'wrong_code',
    );
    expect((await confirm(account, second)).status).toBe(200);
  });

  test('are good for 15 minutes', async () => {
    const account = await registerVerified(service.client);
    const codes = await asked(account, freshEmail());
    await db().query("UPDATE email_changes SET expires_at = now() - interval '1 second'");
    expect((await confirm(account, codes)).body.code).toBe('no_code_waiting');
    expect((await profileOf(account)).pendingEmail).toBeNull();
  });

  test('cannot be ordered without end, and a refusal leaves what was asked before', async () => {
    const account = await service.client.register();
    const replies = [];
    for (let n = 0; n < 5; n++) replies.push((await ask(account, freshEmail())).status);
    // Registering has ordered one.
    expect(replies).toEqual([200, 200, 200, 200, 429]);
  });

  test('of two confirmations at once, one changes the email', async () => {
    const account = await registerVerified(service.client);
    const codes = await asked(account, freshEmail());
    const replies = await Promise.all([confirm(account, codes), confirm(account, codes), confirm(account, codes)]);
    expect(replies.map(outcome).toSorted()).toEqual([
      [200, undefined],
      [400, 'no_code_waiting'],
      [400, 'no_code_waiting'],
    ]);
  });
});

describe('an email of another account', () => {
  test('is told to no one but who proves it, and stays where it is', async () => {
    const [account, other] = [await registerVerified(service.client), await registerVerified(service.client)];
    const [taken, free] = [await ask(account, other.email), await ask(account, freshEmail())];
    expect([taken.status, Object.keys(taken.body), taken.body.changed]).toEqual([
      free.status,
      Object.keys(free.body),
      free.body.changed,
    ]);
    const codes = await asked(account, other.email);
    expect(outcome(await confirm(account, codes))).toEqual([409, 'email_taken']);
    expect((await profileOf(other)).email).toBe(other.email);
    expect((await profileOf(account)).email).toBe(account.email);
  });

  test('that was never verified goes to who proves it', async () => {
    const [account, squatter] = [await registerVerified(service.client), await service.client.register()];
    const codes = await asked(account, squatter.email);
    expect((await confirm(account, codes)).body.email).toBe(squatter.email);
    expect(await profileOf(squatter)).toMatchObject({ email: null, handle: squatter.handle });
    const { body } = await service.client.get('/account/audit?action=email.yielded', squatter.key);
    expect(body.entries).toHaveLength(1);
  });

  test('an account that lost its email that way can have another one', async () => {
    const [account, squatter] = [await registerVerified(service.client), await service.client.register()];
    await confirm(account, await asked(account, squatter.email));
    const email = freshEmail();
    expect((await ask(squatter, email)).body.currentCodeNeeded).toBe(false);
    expect((await confirm(squatter, { code: await codeTo(squatter, email) })).body.email).toBe(email);
  });

  test('two accounts that want one email: one has it', async () => {
    const [one, two] = [await registerVerified(service.client), await registerVerified(service.client)];
    const email = freshEmail();
    const [first, second] = [await asked(one, email), await asked(two, email)];
    const replies = await Promise.all([confirm(one, first), confirm(two, second)]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  test('two accounts that want each other’s are both refused, and no one waits for ever', async () => {
    const [one, two] = [await registerVerified(service.client), await registerVerified(service.client)];
    const [first, second] = [await asked(one, two.email), await asked(two, one.email)];
    const replies = await Promise.all([confirm(one, first), confirm(two, second)]);
    expect(replies.map(outcome)).toEqual([
      [409, 'email_taken'],
      [409, 'email_taken'],
    ]);
  });
});

describe('what was addressed to the old email', () => {
  test('a token for a new password is worth nothing', async () => {
    const account = await registerVerified(service.client);
    await service.client.post('/account/password/reset', { email: account.email });
    const token = await mailedToken(service.client, account.key);
    await confirm(account, await asked(account, freshEmail()));
    const used = await service.client.post('/account/password/reset/confirm', {
      token,
      newPassword: 'stolen horse battery',
    });
    expect(used.body.code).toBe('reset_token_invalid');
  });

  test('invoices stay with the address, and payments to it find no one', async () => {
    const [account, sender] = [await registerVerified(service.client), await registerVerified(service.client)];
    const email = freshEmail();
    const invoice = (toEmail: string) =>
      service.client.post('/invoices', { toEmail, amount: 1, currency: 'USDC', description: 'Tea' }, sender.key);
    const [before, after] = [(await invoice(account.email)).body, (await invoice(email)).body];
    const received = async () =>
      (await service.client.get('/invoices?direction=received', account.key)).body.invoices.map(
        ({ id }: { id: string }) => id,
      );
    expect(await received()).toEqual([before.id]);
    await confirm(account, await asked(account, email));
    expect(await received()).toEqual([after.id]);
    const pay = (to: string) => service.client.post('/agent/transfer', { to, amount: 1, currency: 'USDC' }, sender.key);
    expect([(await pay(account.email)).body.code, (await pay(email)).body.code]).toEqual([
      'recipient_not_found',
      'insufficient_balance',
    ]);
  });
});
