import { beforeAll, expect, test } from 'vitest';
import { newApiKey } from '../../src/accounts/keys/api-key.ts';
import { createKeyRing } from '../../src/accounts/keys/key-ring.ts';
import { createSecrets } from '../../src/secrets.ts';
import { useOlderDatabase } from '../support/older-database.ts';

const { db, upgrade } = useOlderDatabase({ without: 'api_keys.sql' });
const secrets = createSecrets('s'.repeat(32));
const key = newApiKey();
const dayMs = 24 * 60 * 60_000;

beforeAll(async () => {
  const { rows } = await db.query<{ id: bigint }>(
    "INSERT INTO accounts (handle, email, name, password_hash) VALUES ('PA-UPGRADED', 'a@example.com', 'Ada', '-') RETURNING id",
  );
  await db.query(
    "INSERT INTO api_keys (id, account_id, key_hash, created_at) VALUES ('key_1', $1, $2, now() - interval '2 years')",
    [rows[0]?.id, secrets.hash('api-keys', key)],
  );
  await upgrade();
});

test('a key from before goes on, with everything that it could do, and has as long to be used as any other', async () => {
  let now = Date.now();
  const find = () => {
    const ring = createKeyRing({
      db,
      secrets,
      mayRemember: () => false,
      clock: { now: () => now },
      idleMs: 90 * dayMs,
      uses: { note: () => {} },
    });
    return ring.find(key, { mayAsk: () => {}, address: () => '' });
  };
  expect(await find()).toMatchObject({ keyId: 'key_1', scopes: ['read', 'pay', 'withdraw', 'manage'] });
  now += 89 * dayMs;
  expect(await find()).toMatchObject({ keyId: 'key_1' });
  now += 2 * dayMs;
  expect(await find()).toBeUndefined();
});
