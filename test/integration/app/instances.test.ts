import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/database.ts';
import { type Service, startService } from '../../support/service.ts';

const database = useDatabase();
let first: Service;
let second: Service;
beforeAll(async () => {
  first = await startService(database);
  second = await startService(database);
});
afterAll(async () => {
  await first.stop();
  await second.stop();
});

describe('two instances on one database', () => {
  test('a key of one works on the other', async () => {
    const { key, handle } = await first.client.register();
    expect((await second.client.get('/account', key)).body.handle).toBe(handle);
  });

  test('a revoked key is refused by the other with the very next request', async () => {
    for (let round = 0; round < 30; round++) {
      const { key } = await first.client.register();
      expect((await second.client.get('/account', key)).status).toBe(200);
      expect((await first.client.post('/account/revoke-key', undefined, key)).body).toEqual({
        revoked: true,
        webhooks: [],
      });
      expect((await second.client.get('/account', key)).status).toBe(401);
      expect((await first.client.get('/account', key)).status).toBe(401);
    }
  });

  test('only the key that calls is revoked, and signing in gives a new one', async () => {
    const account = await first.client.register();
    const { email, password } = account;
    const other = (await first.client.post('/agent/register', { email, password })).body.apiKey;
    await first.client.post('/account/revoke-key', undefined, account.key);
    expect((await second.client.get('/account', other)).status).toBe(200);
    const fresh = await second.client.post('/agent/register', { email, password });
    expect(fresh.body.agentHandle).toBe(account.handle);
    expect((await first.client.get('/account', fresh.body.apiKey)).status).toBe(200);
  });

  test('requests under way while a key is revoked never bring it back', async () => {
    const { key } = await first.client.register();
    const noise = Array.from({ length: 50 }, () => second.client.get('/account', key));
    await first.client.post('/account/revoke-key', undefined, key);
    const after = await Promise.all(Array.from({ length: 20 }, () => second.client.get('/account', key)));
    await Promise.all(noise);
    expect(after.map((reply) => reply.status)).toEqual(Array(20).fill(401));
    expect((await second.client.get('/account', key)).status).toBe(401);
  });

  test('a key revoked while notifications are cut off is refused all the same', async () => {
    const { key } = await first.client.register();
    expect((await second.client.get('/account', key)).status).toBe(200);
    await database.db.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'paywright-listener' AND datname = current_database()",
    );
    await database.db.query(
      'UPDATE api_keys SET revoked_at = now() WHERE account_id = (SELECT account_id FROM api_keys ORDER BY created_at DESC LIMIT 1)',
    );
    await expect.poll(async () => (await second.client.get('/account', key)).status).toBe(401);
    const again = await first.client.register();
    expect((await second.client.get('/account', again.key)).status).toBe(200);
  });

  test('a tier holds everywhere at once', async () => {
    const { key } = await first.client.register();
    await second.client.get('/account', key);
    await first.client.post('/account/tier', { tier: 'pro' }, key);
    expect((await second.client.get('/account', key)).body.tier).toBe('pro');
  });
});
