import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addAccountCommands } from '../../../src/accounts/commands.ts';
import { addGiveKeyCommand, addKeyCommands } from '../../../src/accounts/keys/key-commands.ts';
import { keysEnded } from '../../../src/accounts/keys/on-keys-ended.ts';
import { revokeMostKeys } from '../../../src/accounts/keys/revoke-keys.ts';
import { features } from '../../../src/app/features.ts';
import { hooksOf } from '../../../src/app/listed-feature.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import type { TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

// Nothing takes events away here, so that they can be looked at.
const service = useService({ roles: { serve: true, work: false } });
const db = () => service.database.db;
const everything = ['key.created', 'key.revoked', 'account.changed'];

interface Told {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields that it expects
  readonly data: any;
}

/** An account with a webhook for what happens to the account itself. */
async function listener(events = everything): Promise<TestAccount & { id: bigint; keyId: string }> {
  const account = await service.client.register();
  await service.client.post('/webhooks', { url: 'https://agent.example.com/hook', events }, account.key);
  const { rows } = await db().query<{ id: bigint; keyId: string }>(
    'SELECT a.id, k.id AS key_id FROM accounts a JOIN api_keys k ON k.account_id = a.id WHERE a.handle = $1',
    [account.handle],
  );
  return { ...account, id: rows[0]?.id ?? 0n, keyId: rows[0]?.keyId ?? '' };
}

/** What its webhooks would be told, oldest first. */
async function told(accountId: bigint): Promise<Told[]> {
  const { rows } = await db().query<Told>('SELECT type, data FROM ledger.events WHERE account_id = $1 ORDER BY id', [
    accountId,
  ]);
  return rows.map(({ type, data }) => ({ type, data }));
}

async function paywright(...args: string[]): Promise<void> {
  const program = new Command('paywright').exitOverride();
  const secrets = createSecrets('a secret that is used in tests only');
  const tools = {
    withDatabase: (work: (db: Database, settings: { idleMs: number }) => Promise<void>) =>
      work(db(), { idleMs: Number.POSITIVE_INFINITY }),
    withSecrets: (work: (parts: { db: Database; secrets: typeof secrets }) => Promise<void>) =>
      work({ db: db(), secrets }),
    say: () => {},
    operator: 'olga',
    onKeysEnded: hooksOf(features)(keysEnded),
  };
  const account = addAccountCommands(program, tools);
  addKeyCommands(account, tools);
  addGiveKeyCommand(account, tools);
  await program.parseAsync(['node', 'paywright', 'account', ...args]);
}

describe('key.created', () => {
  test('is caused by signing in, by making a key and by rotating one', async () => {
    const { id, key, keyId, email, password } = await listener();
    await service.client.post('/agent/register', { email, password });
    const { body: made } = await service.client.post('/account/keys', { name: 'Agent', scopes: ['read'] }, key);
    const { body: rotated } = await service.client.post(`/account/keys/${made.id}/rotate`, undefined, key);
    const events = await told(id);
    expect(events.map(({ type, data }) => [type, data.name, data.rotatedFrom])).toEqual([
      ['key.created', 'Sign-in', null],
      ['key.created', 'Agent', null],
      ['key.created', 'Agent', made.id],
    ]);
    expect(events[2]?.data).toEqual({
      keyId: rotated.id,
      name: 'Agent',
      last4: rotated.last4,
      scopes: ['read'],
      expiresAt: null,
      rotatedFrom: made.id,
    });
    const all = JSON.stringify(events);
    for (const secret of [made.apiKey, rotated.apiKey, email, key]) expect(all).not.toContain(secret);
    expect(keyId).not.toBe(rotated.id);
  });

  test('is caused by a key from the operator', async () => {
    const { id, handle } = await listener();
    await db().query('UPDATE accounts SET email = NULL, email_verified_at = NULL WHERE id = $1', [id]);
    await paywright('give-key', handle);
    expect((await told(id)).map(({ type, data }) => [type, data.name])).toEqual([['key.created', 'From the operator']]);
  });

  test('is not written down where no webhook asks for it', async () => {
    const { id, email, password, key } = await listener(['payment.sent']);
    await service.client.post('/agent/register', { email, password });
    await service.client.patch('/account', { name: 'Ada L.' }, key);
    expect(await told(id)).toEqual([]);
  });

  test('is not written down for a key that was not made', async () => {
    const { id, key } = await listener();
    const { body } = await service.client.post('/account/keys', { name: 'Reader', scopes: ['manage'] }, key);
    await service.client.post('/account/keys', { name: 'More', scopes: ['pay'] }, body.apiKey);
    expect((await told(id)).map(({ data }) => data.name)).toEqual(['Reader']);
  });
});

describe('key.revoked', () => {
  const made = async (key: string) => (await service.client.post('/account/keys', { name: 'Agent' }, key)).body;

  test('names the key, once, and who revoked it', async () => {
    const { id, key, keyId } = await listener(['key.revoked']);
    const [one, other] = [await made(key), await made(key)];
    const revoke = () => service.client.request('DELETE', `/account/keys/${one.id}`, { key });
    await revoke();
    await revoke();
    await service.client.post('/account/revoke-key', undefined, other.apiKey);
    expect((await told(id)).map(({ data }) => data)).toEqual([
      { keyIds: [one.id], count: 1, all: false, byKey: keyId, byOperator: false },
      { keyIds: [other.id], count: 1, all: false, byKey: other.id, byOperator: false },
    ]);
  });

  test('is caused by a rotation without an overlap, and not by one with an overlap', async () => {
    const { id, key } = await listener(['key.revoked']);
    const [one, other] = [await made(key), await made(key)];
    await service.client.post(`/account/keys/${one.id}/rotate`, { overlapSeconds: 60 }, key);
    await service.client.post(`/account/keys/${other.id}/rotate`, { overlapSeconds: 0 }, key);
    expect((await told(id)).map(({ data }) => data.keyIds)).toEqual([[other.id]]);
  });

  test('again, once the overlap of a rotation is over, ends what was left below the key', async () => {
    const { id, key, handle } = await listener(['key.revoked']);
    const parent = await made(key);
    const child = await made(parent.apiKey);
    const { body: rotated } = await service.client.post(`/account/keys/${parent.id}/rotate`, undefined, key);
    const revoke = () => service.client.request('DELETE', `/account/keys/${rotated.id}`, { key });
    expect((await revoke()).status).toBe(200);
    expect((await service.client.get('/account', child.apiKey)).status).toBe(200);
    await db().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [parent.id]);
    expect((await revoke()).status).toBe(200);
    expect((await told(id)).map(({ data }) => data.keyIds)).toEqual([[rotated.id], [parent.id, child.id].toSorted()]);
    const { entries } = (await service.client.get('/account/audit?action=key.revoked', key)).body;
    expect(entries).toMatchObject([
      { details: { key: rotated.id, keys: 2 } },
      { details: { key: rotated.id, keys: 1 } },
    ]);
    const transfer = { to: handle, amount: 1, currency: 'USDC' };
    expect((await service.client.post('/agent/transfer', transfer, child.apiKey)).status).toBe(401);
    await revoke();
    expect(await told(id)).toHaveLength(2);
  });

  test('is one event when all keys end: by revoke-all, with a new password, by the operator', async () => {
    const [one, two, three] = [
      await listener(['key.revoked']),
      await listener(['key.revoked', 'account.changed']),
      await listener(['key.revoked']),
    ];
    for (const { key } of [one, two, three]) await made(key);
    await service.client.post('/account/keys/revoke-all', undefined, one.key);
    const change = { currentPassword: two.password, newPassword: 'a longer horse battery', revokeKeys: true };
    await service.client.post('/account/password', change, two.key);
    await paywright('revoke-keys', three.handle);
    const seen = async ({ id }: { id: bigint }) =>
      (await told(id)).map(({ type, data }) => [type, data.fields ?? data.count, data.all, data.byOperator]);
    expect(await seen(one)).toEqual([['key.revoked', 2, true, false]]);
    expect(await seen(two)).toEqual([
      ['key.revoked', 2, true, false],
      ['account.changed', ['password'], undefined, false],
    ]);
    expect(await seen(three)).toEqual([['key.revoked', 2, true, true]]);
  });

  test('is not told to webhooks that end with the keys', async () => {
    const { id, key } = await listener(['key.revoked']);
    await service.client.post('/account/keys/revoke-all', { endWebhooks: true }, key);
    expect(await told(id)).toEqual([]);
  });

  test('names at most a hundred keys of very many', async () => {
    const { id } = await listener(['key.revoked']);
    await db().query(
      `INSERT INTO api_keys (id, account_id, key_hash, name, last4)
         SELECT 'key_' || $1::bigint || '_' || n, $1::bigint, sha256(($1::bigint || ' ' || n)::bytea), 'one of many', 'last'
         FROM generate_series(1, 5001) n`,
      [id],
    );
    await revokeMostKeys(db(), { accountId: id, by: { operator: 'olga' } });
    const [event] = await told(id);
    expect(event?.data).toMatchObject({ count: 5_000, all: false, byOperator: true });
    expect(event?.data.keyIds).toHaveLength(100);
  });
});

describe('account.changed', () => {
  test('names the fields that are other ones now, and no value', async () => {
    const { id, key, keyId } = await listener(['account.changed']);
    const withdrawalAddress = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
    const change = { name: 'Ada L.', withdrawalAddress, shippingAddress: '1 Main Street, San Francisco, CA 94105' };
    await service.client.patch('/account', change, key);
    await service.client.patch('/account', change, key);
    await service.client.patch('/account', { phone: '+14155550199' }, key);
    await service.client.patch('/account', { phone: null, shippingAddress: null }, key);
    const events = await told(id);
    expect(events.map(({ data }) => data.fields)).toEqual([
      ['name', 'withdrawalAddress', 'shippingAddress'],
      ['phone'],
      ['shippingAddress', 'phone'],
    ]);
    expect(events[0]?.data).toEqual({
      fields: ['name', 'withdrawalAddress', 'shippingAddress'],
      byKey: keyId,
      byOperator: false,
    });
  });

  test('tells of another tier and of a freeze, once', async () => {
    const { id, key, handle } = await listener(['account.changed']);
    await service.client.post('/account/tier', { tier: 'pro' }, key);
    await service.client.post('/account/tier', { tier: 'pro' }, key);
    for (const command of ['freeze', 'freeze', 'unfreeze', 'unfreeze']) await paywright(command, handle);
    expect((await told(id)).map(({ data }) => [data.fields, data.byOperator])).toEqual([
      [['tier'], false],
      [['frozen'], true],
      [['frozen'], true],
    ]);
  });
});
