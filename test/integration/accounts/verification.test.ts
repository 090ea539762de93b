import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';
import { registerVerified, verifyEmail } from '../../support/verify-email.ts';

const said: string[] = [];
const service = useService({ env: { SANDBOX_AUTO_VERIFY: 'false' }, say: (line) => said.push(line) });

async function codeFor({ key }: TestAccount, channel: 'email' | 'sms'): Promise<string> {
  const { body } = await service.client.get('/sandbox/messages', key);
  const newest = body.messages.find((message: { channel: string }) => message.channel === channel);
  return /^\d{6}/.exec(newest.text)?.[0] ?? '';
}

const wrong = (code: string) => (code === '000000' ? '000001' : '000000');

describe('an email', () => {
  test('signs in at once, but finds its account only once it is verified', async () => {
    const owner = await service.client.register();
    const other = await service.client.register();
    const lookup = () => service.client.get(`/circle/lookup?email=${owner.email}`, other.key);

    expect((await service.client.get('/account', owner.key)).body.emailVerified).toBe(false);
    expect((await lookup()).status).toBe(404);
    const byHandle = await service.client.get(`/agents/check?handle=${owner.handle}`, other.key);
    expect(byHandle.body).toEqual({ found: true, handle: owner.handle, email: null });

    const verified = await service.client.post(
      '/account/email/verify',
      { code: await codeFor(owner, 'email') },
      owner.key,
    );
    expect(verified.body).toMatchObject({ emailVerified: true });
    expect((await lookup()).body.handle).toBe(owner.handle);
  });

  test('registration, sign-in and the account say how to verify it, until it is verified', async () => {
    const credentials = { email: `${randomUUID()}@example.com`, password: 'correct horse battery', name: 'Ada' };
    const enter = async (path: string) => (await service.client.post(path, credentials)).body;
    const { apiKey, ...registered } = await enter('/agent/register');
    const [step] = registered.nextSteps;
    expect([registered.emailVerified, registered.nextSteps.length]).toEqual([false, 1]);
    expect(step).toContain(`mail to ${credentials.email} to POST /account/email/verify`);
    for (const path of ['/agent/register', '/circle/register']) {
      expect(await enter(path)).toMatchObject({ emailVerified: false, nextSteps: [step] });
    }
    expect((await service.client.get('/account', apiKey)).body.nextSteps).toEqual([step]);
    await verifyEmail(service.client, apiKey);
    expect(await enter('/circle/register')).toMatchObject({ emailVerified: true, nextSteps: [] });
    const claimed = await service.client.patch('/account', { phone: '+14155550177' }, apiKey);
    expect(claimed.body.nextSteps).toEqual([expect.stringContaining('+14155550177 to POST /account/phone/verify')]);
  });

  test('that is not verified is told to a sender as one that nobody has, with what the recipient can do', async () => {
    const [owner, sender] = [await service.client.register(), await service.client.register()];
    const pay = async (to: string) =>
      (await service.client.post('/circle/transfer', { to, amount: 1, currency: 'USDC' }, sender.key)).body;
    const told = async (to: string) => {
      const { code, detail } = await pay(to);
      return { code, detail };
    };
    const unverified = await told(owner.email);
    expect(unverified.code).toBe('recipient_not_found');
    expect(unverified.detail).toContain(
      'ask them to verify it with the code from our mail (POST /account/email/verify',
    );
    expect(await told(`${randomUUID()}@example.com`)).toEqual(unverified);
    expect((await told('+14155550199')).detail).toContain('POST /account/phone/verify');
    expect((await told('PA-ZZZZZZZZ')).detail).toContain('No account has this handle');
  });

  test('the message is shown on the console too, once', async () => {
    const owner = await service.client.register();
    const code = await codeFor(owner, 'email');
    await expect.poll(() => said.filter((line) => line.includes(owner.email))).toHaveLength(1);
    expect(said.find((line) => line.includes(owner.email))).toContain(code);
  });
});

describe('a phone number', () => {
  test('is sent no code before the email is verified, and then it is', async () => {
    const owner = await service.client.register();
    const early = await service.client.patch('/account', { phone: '+14155550100', name: 'Ada L.' }, owner.key);
    expect([early.status, early.body.code]).toEqual([403, 'email_not_verified']);
    expect((await service.client.get('/account', owner.key)).body).toMatchObject({ name: 'Ada', pendingPhone: null });
    await verifyEmail(service.client, owner.key);
    expect((await service.client.patch('/account', { phone: '+14155550100' }, owner.key)).status).toBe(200);
  });

  test('that belongs to somebody is not told to who claims it, only to who proves it', async () => {
    const [owner, other] = [await registerVerified(service.client), await registerVerified(service.client)];
    await service.client.patch('/account', { phone: '+14155550109' }, owner.key);
    await service.client.post('/account/phone/verify', { code: await codeFor(owner, 'sms') }, owner.key);
    const claimed = await service.client.patch('/account', { phone: '+14155550109' }, other.key);
    expect(claimed.status).toBe(200);
    const proved = await service.client.post('/account/phone/verify', { code: await codeFor(other, 'sms') }, other.key);
    expect([proved.status, proved.body.code]).toEqual([409, 'phone_taken']);
  });

  test('waits for its code, then stands for the account', async () => {
    const owner = await registerVerified(service.client);
    const claimed = await service.client.patch('/account', { phone: '+14155550101' }, owner.key);
    expect(claimed.body).toMatchObject({ phone: '+14155550101', phoneVerified: false, pendingPhone: '+14155550101' });

    const code = await codeFor(owner, 'sms');
    const refused = await service.client.post('/account/phone/verify', { code: wrong(code) }, owner.key);
    expect([refused.status, refused.body.code]).toEqual([400, 'wrong_code']);
    const verified = await service.client.post('/account/phone/verify', { code }, owner.key);
    expect(verified.body).toMatchObject({ phone: '+14155550101', phoneVerified: true, pendingPhone: null });
    const again = await service.client.post('/account/phone/verify', { code }, owner.key);
    expect(again.body.code).toBe('no_code_waiting');
  });

  test('is not taken by claiming it: whoever proves it first has it, and the other proof fails', async () => {
    const [squatter, owner] = [await registerVerified(service.client), await registerVerified(service.client)];
    await service.client.patch('/account', { phone: '+14155550102' }, squatter.key);
    const claimed = await service.client.patch('/account', { phone: '+14155550102' }, owner.key);
    expect(claimed.status).toBe(200);
    const ownerCode = await codeFor(owner, 'sms');
    expect((await service.client.post('/account/phone/verify', { code: ownerCode }, owner.key)).status).toBe(200);
    const late = await service.client.post(
      '/account/phone/verify',
      { code: await codeFor(squatter, 'sms') },
      squatter.key,
    );
    expect([late.status, late.body.code]).toEqual([409, 'phone_taken']);
    expect((await service.client.get('/account', owner.key)).body.phoneVerified).toBe(true);
  });

  test('a new number leaves the old one in place until it is proved', async () => {
    const owner = await registerVerified(service.client);
    await service.client.patch('/account', { phone: '+14155550103' }, owner.key);
    await service.client.post('/account/phone/verify', { code: await codeFor(owner, 'sms') }, owner.key);
    const moving = await service.client.patch('/account', { phone: '+14155550104' }, owner.key);
    expect(moving.body).toMatchObject({ phone: '+14155550103', phoneVerified: true, pendingPhone: '+14155550104' });
  });

  test('five wrong codes end a code, however many are tried at once', async () => {
    const owner = await registerVerified(service.client);
    await service.client.patch('/account', { phone: '+14155550105' }, owner.key);
    const code = await codeFor(owner, 'sms');
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => service.client.post('/account/phone/verify', { code: wrong(code) }, owner.key)),
    );
    expect(replies.filter((reply) => reply.body.code === 'wrong_code')).toHaveLength(5);
    expect(replies.filter((reply) => reply.body.code === 'no_code_waiting')).toHaveLength(7);
    const tooLate = await service.client.post('/account/phone/verify', { code }, owner.key);
    expect(tooLate.body.code).toBe('no_code_waiting');

    expect((await service.client.post('/account/phone/code', undefined, owner.key)).body).toEqual({ sent: true });
    const fresh = await codeFor(owner, 'sms');
    expect((await service.client.post('/account/phone/verify', { code: fresh }, owner.key)).status).toBe(200);
  });

  test('codes cannot be ordered without end', async () => {
    const owner = await registerVerified(service.client);
    await service.client.patch('/account', { phone: '+14155550106' }, owner.key);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++)
      statuses.push((await service.client.post('/account/phone/code', undefined, owner.key)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });

  test('many accounts together cannot flood one phone', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++) {
      const { key } = await registerVerified(service.client);
      statuses.push((await service.client.patch('/account', { phone: '+14155550108' }, key)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  test('verifying one number while another is claimed never loses the other', async () => {
    for (let round = 0; round < 8; round++) {
      const owner = await registerVerified(service.client);
      await service.client.patch('/account', { phone: `+1415556010${round}` }, owner.key);
      const code = await codeFor(owner, 'sms');
      const [verified, claimed] = await Promise.all([
        service.client.post('/account/phone/verify', { code }, owner.key),
        service.client.patch('/account', { phone: `+1415556020${round}` }, owner.key),
      ]);
      expect(claimed.status).toBe(200);
      expect([200, 400]).toContain(verified.status);
      const { pendingPhone, phoneVerified } = (await service.client.get('/account', owner.key)).body;
      expect(pendingPhone).toBe(`+1415556020${round}`);
      expect(phoneVerified).toBe(verified.status === 200);
    }
  });

  test('an expired code is worth nothing', async () => {
    const owner = await registerVerified(service.client);
    await service.client.patch('/account', { phone: '+14155550107' }, owner.key);
    const code = await codeFor(owner, 'sms');
    await service.database.db.query(
      "UPDATE verification_codes SET expires_at = now() - interval '1 second' WHERE target = $1",
      ['+14155550107'],
    );
    const reply = await service.client.post('/account/phone/verify', { code }, owner.key);
    expect(reply.body.code).toBe('no_code_waiting');
  });
});

describe('asking for a code with an Idempotency-Key', () => {
  test('sends one message, however often it is asked', async () => {
    const owner = await service.client.register();
    const ask = () =>
      service.client.request('POST', '/account/email/code', { key: owner.key, headers: { 'idempotency-key': 'once' } });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const { body } = await service.client.get('/sandbox/messages', owner.key);
    expect(body.messages).toHaveLength(2);
  });

  test('messages are listed newest first, page by page, and only to their owner', async () => {
    const owner = await service.client.register();
    await service.client.post('/account/email/code', undefined, owner.key);
    const first = await service.client.get('/sandbox/messages?limit=1', owner.key);
    expect(first.body.messages).toHaveLength(1);
    const second = await service.client.get(`/sandbox/messages?limit=1&cursor=${first.body.nextCursor}`, owner.key);
    expect(second.body.nextCursor).toBeNull();
    expect(second.body.messages[0].id < first.body.messages[0].id).toBe(true);
    for (const limit of ['0', '101', '-1', 'x', '1.5']) {
      expect((await service.client.get(`/sandbox/messages?limit=${limit}`, owner.key)).status).toBe(400);
    }
  });
});
