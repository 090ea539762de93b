import { describe, expect, onTestFinished, test } from 'vitest';
import { createPasswords, usualPasswordCost } from '../../../src/accounts/passwords/passwords.ts';
import { freshEmail } from '../../support/client.ts';
import { startService, useService } from '../../support/service.ts';

const service = useService();
const password = 'correct horse';

describe('registration', () => {
  test('a new account gets a key, a handle, a wallet and an address', async () => {
    const { status, body } = await service.client.post('/agent/register', {
      email: freshEmail(),
      password,
      name: 'Ada',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      apiKey: expect.stringMatching(/^pa_live_[0-9A-Za-z]{38}$/),
      keyExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      agentHandle: expect.stringMatching(/^PA-[A-Z0-9]{8}$/),
      circleWalletId: expect.stringMatching(/^wal_/),
      depositAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      isNewAccount: true,
      emailVerified: true,
      nextSteps: [],
    });
  });

  test('the other endpoint registers the same accounts in its own words', async () => {
    const email = freshEmail();
    const first = await service.client.post('/circle/register', { email, password, name: 'Ada' });
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      apiKey: expect.stringMatching(/^pa_live_/),
      keyExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      circleWalletId: expect.stringMatching(/^wal_/),
      handle: expect.stringMatching(/^PA-/),
      email,
      emailVerified: true,
      nextSteps: [],
    });
    const again = await service.client.post('/agent/register', { email, password });
    expect(again.status).toBe(200);
    expect(again.body.agentHandle).toBe(first.body.handle);
  });

  test('the same email signs in, whatever its case, and every key works', async () => {
    const email = freshEmail();
    const first = await service.client.post('/agent/register', { email: email.toUpperCase(), password, name: 'Ada' });
    const second = await service.client.post('/agent/register', { email: ` ${email}`, password });
    expect(second.status).toBe(200);
    expect(second.body).toEqual({
      apiKey: expect.any(String),
      keyExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      agentHandle: first.body.agentHandle,
      isNewAccount: false,
      emailVerified: true,
      nextSteps: [],
    });
    expect(second.body.apiKey).not.toBe(first.body.apiKey);
    for (const key of [first.body.apiKey, second.body.apiKey]) {
      expect((await service.client.get('/account', key)).body).toMatchObject({ handle: first.body.agentHandle, email });
    }
  });

  test('a wrong password is told apart', async () => {
    const { email } = await service.client.register();
    for (const path of ['/agent/register', '/circle/register']) {
      const { status, body } = await service.client.post(path, { email, password: 'wrong horse', name: 'Ada' });
      expect(status).toBe(401);
      expect(body.code).toBe('wrong_password');
    }
  });

  test('a new account needs a name, and nothing is written without one', async () => {
    const email = freshEmail();
    const { status, body } = await service.client.post('/agent/register', { email, password });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'invalid_request', errors: [{ path: 'name' }] });
    const { rowCount } = await service.database.db.query('SELECT FROM accounts WHERE email = $1', [email]);
    expect(rowCount).toBe(0);
  });

  test('twenty registrations of one email at the same moment give one account', async () => {
    const email = freshEmail();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => service.client.post('/agent/register', { email, password, name: 'Ada' })),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(replies.map((reply) => reply.body.agentHandle)).size).toBe(1);
    const { rows } = await service.database.db.query(
      'SELECT (SELECT count(*) FROM wallets w WHERE w.account_id = a.id)::int AS wallets FROM accounts a WHERE email = $1',
      [email],
    );
    expect(rows).toEqual([{ wallets: 1 }]);
  });

  test('two people who race for one email with different passwords: one gets it, the other is refused', async () => {
    const email = freshEmail();
    const replies = await Promise.all(
      ['first horse', 'second horse'].map((word) =>
        service.client.post('/agent/register', { email, password: word, name: 'Ada' }),
      ),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 401]);
  });

  test('only hashes of keys and passwords are stored', async () => {
    // As everywhere but in tests.
    const usual = await startService(service.database, {
      roles: { serve: true, work: false },
      passwordCost: usualPasswordCost,
    });
    onTestFinished(() => usual.stop());
    const { key, email } = await usual.client.register({ password: 'a very secret horse' });
    const { rows } = await service.database.db.query<{ dump: string }>(
      `SELECT string_agg(a::text || k::text, ' ') AS dump FROM accounts a JOIN api_keys k ON k.account_id = a.id WHERE email = $1`,
      [email],
    );
    expect(rows[0]?.dump).toContain('$argon2id$v=19$m=19456,t=2,p=1$');
    expect(rows[0]?.dump).not.toContain('a very secret horse');
    expect(rows[0]?.dump).not.toContain(key.slice('pa_live_'.length));
  });

  test('wrong passwords slow their network down, and neither keep out the right one nor anybody else', async () => {
    const { email } = await service.client.register();
    for (let i = 0; i < 12; i++) {
      expect((await service.client.post('/agent/register', { email, password })).status).toBe(200);
    }
    const attempts = await Promise.all(
      Array.from({ length: 15 }, () => service.client.post('/agent/register', { email, password: 'wrong horse' })),
    );
    const wrong = attempts.filter((reply) => reply.status === 401);
    const refused = attempts.filter((reply) => reply.status === 429);
    expect(wrong.length + refused.length).toBe(15);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.body.code).toBe('too_many_attempts');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.client.post('/agent/register', { email, password })).status).toBe(200);
    expect((await service.client.register()).key).toBeTruthy();
  });

  test('a password that others would try first is refused for a new account, and opens one that has it', async () => {
    const email = freshEmail();
    for (const weak of ['PASSWORD1', 'iloveyou1', email, 'Ada Lovelace']) {
      const reply = await service.client.post('/agent/register', { email, password: weak, name: 'Ada Lovelace' });
      expect([weak, reply.status, reply.body.code]).toEqual([weak, 400, 'password_too_common']);
    }
    expect((await service.client.post('/agent/register', { email, password, name: 'Ada' })).status).toBe(201);
    const hash = await createPasswords().hash('password1', 'here');
    await service.database.db.query('UPDATE accounts SET password_hash = $2 WHERE email = $1', [email, hash]);
    expect((await service.client.post('/agent/register', { email, password: 'password1' })).status).toBe(200);
    expect((await service.client.post('/agent/register', { email, password: 'iloveyou1' })).status).toBe(401);
  });
});

describe('looking others up', () => {
  test('by email and by handle, in any case', async () => {
    const other = await service.client.register({ name: 'Grace' });
    const { key } = await service.client.register();
    for (const query of [`email=${other.email.toUpperCase()}`, `handle=${other.handle.toLowerCase()}`]) {
      expect((await service.client.get(`/agents/check?${query}`, key)).body).toEqual({
        found: true,
        handle: other.handle,
        email: other.email,
      });
      expect((await service.client.get(`/circle/lookup?${query}`, key)).body).toEqual({
        found: true,
        handle: other.handle,
        name: 'Grace',
      });
    }
  });

  test.each(['/agents/check', '/circle/lookup'])(
    '%s says 404 for nobody, 400 for nonsense, 401 without a key',
    async (path) => {
      const { key } = await service.client.register();
      const nobody = await service.client.get(`${path}?handle=PA-AAAAAAAA`, key);
      expect([nobody.status, nobody.body.code]).toEqual([404, 'account_not_found']);
      for (const query of ['', '?email=x', '?handle=PA-1', '?email=a@b.co&handle=PA-AAAAAAAA', '?phone=1']) {
        const reply = await service.client.get(`${path}${query}`, key);
        expect([query, reply.status, reply.body.code]).toEqual([query, 400, 'invalid_request']);
      }
      expect((await service.client.get(`${path}?handle=PA-AAAAAAAA`)).status).toBe(401);
    },
  );
});

describe('the profile', () => {
  test('can be changed field by field, and cleared', async () => {
    const { key } = await service.client.register();
    const address = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
    const changed = await service.client.patch(
      '/account',
      {
        name: 'Ada L.',
        phone: '+44 20 7946 0958',
        withdrawalAddress: address.toLowerCase(),
        shippingAddress: '1 Main St\nAustin, TX 78701',
      },
      key,
    );
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      name: 'Ada L.',
      phone: '+442079460958',
      phoneVerified: true,
      withdrawalAddress: address,
      shippingAddress: '1 Main St\nAustin, TX 78701',
    });
    const cleared = await service.client.patch(
      '/account',
      { phone: null, withdrawalAddress: null, shippingAddress: null },
      key,
    );
    expect(cleared.body).toMatchObject({ name: 'Ada L.', phone: null, withdrawalAddress: null, shippingAddress: null });
    expect((await service.client.get('/account', key)).body).toEqual(cleared.body);
  });

  test('a shipping address that cannot be read is refused as when buying, and nothing is saved', async () => {
    const { key } = await service.client.register();
    const home = '1 Main St\nAustin, TX 78701';
    await service.client.patch('/account', { shippingAddress: home }, key);
    const { status, body } = await service.client.patch(
      '/account',
      { name: 'Grace', shippingAddress: '5 rue de Rivoli, 75001 Paris' },
      key,
    );
    expect([status, body.code, body.missing]).toEqual([400, 'shipping_address_incomplete', ['country']]);
    expect(body.understood).toMatchObject({ name: 'Grace', city: 'Paris', postalCode: '75001' });
    expect(body.detail).toContain('Write the country at the end');
    const after = (await service.client.get('/account', key)).body;
    expect([after.shippingAddress, after.name]).toEqual([home, 'Ada']);
  });

  test.each([
    { phone: '12' },
    { phone: 'call me' },
    { phone: '+49111111111111111' },
    { phone: 'call +14155550123 now' },
    { phone: '+1 415 555 0123 ext. 5' },
    { phone: 14155550123 },
    { withdrawalAddress: '0x123' },
    { withdrawalAddress: '0x71c7656EC7ab88b098defB751B7401B5f6d8976F' },
    { name: '' },
    { name: null },
    { name: '\u001b[31mred' },
    { name: 'two\nlines' },
    { name: '\u200b\u200b' },
    { name: 'abc\u202ecba' },
    { name: 'x'.repeat(201) },
    { shippingAddress: ' ' },
    { email: 'new@example.com' },
    { tier: 'enterprise' },
  ])('%j is refused and changes nothing', async (change) => {
    const { key } = await service.client.register();
    const before = (await service.client.get('/account', key)).body;
    const reply = await service.client.patch('/account', change, key);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect((await service.client.get('/account', key)).body).toEqual(before);
  });

  test('a number belongs to one account at a time', async () => {
    const [owner, other] = [await service.client.register(), await service.client.register()];
    await service.client.patch('/account', { phone: '+14155550177' }, owner.key);
    const taken = await service.client.patch('/account', { phone: '+1 415 555 0177', name: 'Thief' }, other.key);
    expect([taken.status, taken.body.code]).toEqual([409, 'phone_taken']);
    expect((await service.client.get('/account', other.key)).body).toMatchObject({ name: 'Ada', phone: null });
    await service.client.patch('/account', { phone: null }, owner.key);
    expect((await service.client.patch('/account', { phone: '+14155550177' }, other.key)).status).toBe(200);
  });
});

describe('tiers', () => {
  test('pro and free by the API, enterprise not', async () => {
    const { key } = await service.client.register();
    const pro = await service.client.post('/account/tier', { tier: 'pro' }, key);
    expect(pro.status).toBe(200);
    expect(pro.body).toMatchObject({ tier: 'pro', rateLimit: expect.any(String), message: expect.any(String) });
    expect((await service.client.get('/account', key)).body.tier).toBe('pro');
    const enterprise = await service.client.post('/account/tier', { tier: 'enterprise' }, key);
    expect([enterprise.status, enterprise.body.code]).toEqual([403, 'forbidden']);
    expect((await service.client.post('/account/tier', { tier: 'gold' }, key)).status).toBe(400);
    expect((await service.client.post('/account/tier', { tier: 'free' }, key)).body.tier).toBe('free');
  });
});
