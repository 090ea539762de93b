import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { scopes } from '../../src/http/define-route.ts';
import { keyDigest, requestDigest } from '../../src/ledger/encode-batch.ts';
import { findEarlier } from '../../src/ledger/find-earlier.ts';
import { createOnce } from '../../src/ledger/idempotency.ts';
import { createLogger } from '../../src/logger.ts';
import { newUuid } from '../../src/typeid.ts';
import { scope } from '../support/ledger.ts';

const folder = new URL('../../src/db/migrations/', import.meta.url);
const adminUrl = inject('postgresUrl');
const name = `upgrade_${randomBytes(6).toString('hex')}`;
const url = adminUrl.replace(/\/[^/]+$/, `/${name}`);
const db = openDatabase({ url, poolSize: 4, logger: createLogger('silent') });
const once = createOnce(db);

let accountId: bigint;
const caller = () => ({ accountId, keyId: 'key_x', handle: 'PA-UPGRADED', tier: 'free' as const, scopes, bucket: 'x' });
const request = (key: string, content?: string) => {
  const { requestHash } = scope(accountId, key, content);
  return { caller: caller(), idempotency: { key, requestHash: Buffer.from(requestHash) } };
};
const answer = async () => ({ status: 200, body: { n: 'anew' } });

/** A database as the release before left it, with keys in both of its tables. */
beforeAll(async () => {
  await administer(`CREATE DATABASE ${name}`);
  await applyOlderMigrations();
  const { rows } = await db.query<{ id: bigint }>(
    `INSERT INTO accounts (handle, email, name, password_hash) VALUES ('PA-UPGRADED', 'a@example.com', 'Ada', '-')
     RETURNING id`,
  );
  accountId = rows[0]?.id ?? 0n;
  await keepAnswerAsBefore('kept', '47 hours');
  await keepAnswerAsBefore('too old', '49 hours');
  await keepPostingAsBefore('paid');
  await keepAnswerAsBefore('both', '1 hour');
  await keepPostingAsBefore('both', 'a transfer');
  await migrate(url);
});
afterAll(async () => {
  await db.close();
  await administer(`DROP DATABASE ${name} WITH (FORCE)`);
});

describe('after an upgrade', () => {
  test('an answer that was kept is given again, and its key is no key for anything else', async () => {
    expect(await once(request('kept'), answer)).toEqual({ status: 201, body: { n: 'kept' }, replayed: true });
    await expect(once(request('kept', 'another request'), answer)).rejects.toMatchObject({ status: 422 });
    expect(await findEarlier(db, scope(accountId, 'kept', 'a transfer'))).toEqual({ outcome: 'mismatch' });
  });

  test('a transfer that was paid is found again, and its key is no key for anything else', async () => {
    const { outcome } = (await findEarlier(db, scope(accountId, 'paid'))) ?? {};
    expect(outcome).toBe('duplicate');
    await expect(once(request('paid', 'a withdrawal'), answer)).rejects.toMatchObject({ status: 422 });
  });

  test('a key that was used for both does neither again', async () => {
    expect((await findEarlier(db, scope(accountId, 'both', 'a transfer')))?.outcome).toBe('duplicate');
    await expect(once(request('both'), answer)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
  });

  test('what was too old to be kept is forgotten', async () => {
    expect(await once(request('too old'), answer)).toEqual({ status: 200, body: { n: 'anew' } });
  });

  test('there is one table', async () => {
    const { rows } = await db.query("SELECT FROM pg_tables WHERE tablename = 'idempotency_keys'");
    expect(rows).toHaveLength(1);
  });
});

async function keepAnswerAsBefore(key: string, age: string): Promise<void> {
  await db.query(
    `INSERT INTO idempotency_keys (account_id, key, request_hash, status, answer, created_at)
     VALUES ($1, $2, $3, 201, $4, now() - $5::interval)`,
    [accountId, key, request(key).idempotency.requestHash, JSON.stringify({ n: key }), age],
  );
}

async function keepPostingAsBefore(key: string, content?: string): Promise<void> {
  const postingId = newUuid(Date.now());
  await db.query(
    `INSERT INTO ledger.postings (id, posted_at, type, sender_id, asset, amount, fee)
     VALUES ($1, now(), 'transfer', $2, 1, 10, 0)`,
    [postingId, accountId],
  );
  const used = scope(accountId, key, content);
  await db.query('INSERT INTO ledger.idempotency_keys VALUES ($1, $2, $3, now())', [
    keyDigest(used),
    requestDigest(used),
    postingId,
  ]);
}

async function applyOlderMigrations(): Promise<void> {
  const names = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const older = names.slice(
    0,
    names.findIndex((file) => file.endsWith('_one_idempotency_store.sql')),
  );
  await db.query(`CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const [index, file] of older.entries()) {
    const sql = await readFile(new URL(file, folder), 'utf8');
    await db.query(sql);
    const checksum = createHash('sha256').update(sql).digest('hex');
    await db.query('INSERT INTO schema_migrations VALUES ($1, $2, $3)', [index + 1, file, checksum]);
  }
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
