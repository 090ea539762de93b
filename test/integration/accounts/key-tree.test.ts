import { describe, expect, test } from 'vitest';
import { revokeMostKeys } from '../../../src/accounts/keys/revoke-keys.ts';
import type { Scope } from '../../../src/kernel/http/define-route.ts';
import type { Reply } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;
const hourMs = 60 * 60_000;

interface Made {
  readonly id: string;
  readonly apiKey: string;
  readonly parent: string | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: string;
}

const tryMake = (by: string, wish: object = {}) => service.client.post('/account/keys', { name: 'Agent', ...wish }, by);
const make = async (by: string, wish: object = {}): Promise<Made> => {
  const { status, body } = await tryMake(by, wish);
  expect(status).toBe(201);
  return body;
};
const rotate = (by: string, id: string, body?: object) => service.client.post(`/account/keys/${id}/rotate`, body, by);
const revoke = (by: string, id: string) => service.client.request('DELETE', `/account/keys/${id}`, { key: by });
const listed = async (by: string): Promise<(Made & { current: boolean })[]> =>
  (await service.client.get('/account/keys', by)).body.keys;
const works = async (key: string) => (await service.client.get('/account', key)).status === 200;
const allWork = (keys: readonly { readonly apiKey: string }[]) => Promise.all(keys.map(({ apiKey }) => works(apiKey)));
const outcome = ({ status, body }: Reply) => [status, body.code];
const idOf = async (key: string) => (await listed(key)).find(({ current }) => current)?.id ?? '';

/** A root, its child, and the child's child. */
async function newFamily() {
  const account = await service.client.register();
  const child = await make(account.key);
  const grandchild = await make(child.apiKey);
  return { ...account, child, grandchild };
}

async function accountIdOf(handle: string): Promise<bigint> {
  const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return rows[0]?.id ?? 0n;
}

async function revokedAt(id: string): Promise<string | null> {
  const { rows } = await db().query<{ at: string | null }>(
    'SELECT revoked_at::text AS at FROM api_keys WHERE id = $1',
    [id],
  );
  return rows[0]?.at ?? null;
}

describe('the parent of a key', () => {
  test('is the calling key, or a key below it, and is shown when created and listed', async () => {
    const { key, child, grandchild } = await newFamily();
    const root = await idOf(key);
    expect([child.parent, grandchild.parent]).toEqual([root, child.id]);
    const placed = await make(key, { parent: grandchild.id });
    expect(placed.parent).toBe(grandchild.id);
    expect((await make(key, { parent: root })).parent).toBe(root);
    const parents = Object.fromEntries((await listed(key)).map(({ id, parent }) => [id, parent]));
    expect(parents).toMatchObject({ [root]: null, [child.id]: root, [placed.id]: grandchild.id });
  });

  test('elsewhere in the tree, in another account or ended is not found', async () => {
    const { key, email, password, child, grandchild } = await newFamily();
    const stranger = await service.client.register();
    const other = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    const [sibling, ended, expired] = [await make(key), await make(child.apiKey), await make(child.apiKey)];
    await revoke(key, ended.id);
    await db().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [expired.id]);
    const elsewhere = [await idOf(key), await idOf(other), await idOf(stranger.key), sibling.id, ended.id, expired.id];
    for (const parent of [...elsewhere, 'key_x'])
      expect(outcome(await tryMake(child.apiKey, { parent }))).toEqual([404, 'key_not_found']);
    expect(outcome(await tryMake(grandchild.apiKey, { parent: child.id }))).toEqual([404, 'key_not_found']);
    expect(outcome(await tryMake(key, { parent: 7 }))).toEqual([400, 'invalid_request']);
  });

  test('limits scopes and expiry, as the calling key does', async () => {
    const { key } = await service.client.register();
    const end = new Date(Date.now() + hourMs).toISOString();
    const parent = await make(key, { scopes: ['read', 'pay'], expiresAt: end });
    expect(await make(key, { parent: parent.id })).toMatchObject({ scopes: ['read', 'pay'], expiresAt: end });
    const wider = await tryMake(key, { parent: parent.id, scopes: ['read', 'withdraw'] });
    expect([...outcome(wider), wider.body.scope]).toEqual([403, 'scope_required', 'withdraw']);
    const expiresAt = new Date(Date.parse(end) + 1).toISOString();
    expect(outcome(await tryMake(key, { parent: parent.id, expiresAt }))).toEqual([403, 'key_outlives_maker']);
    expect((await make(key, { expiresAt })).expiresAt).toBe(expiresAt);
  });

  test('does not lend a calling key more life than its own', async () => {
    const { key } = await service.client.register();
    const manager = await make(key);
    const long = await make(manager.apiKey);
    const { body } = await rotate(key, manager.id, { overlapSeconds: 600 });
    const { rotatedFrom } = body;
    expect((await make(manager.apiKey, { parent: long.id })).expiresAt).toBe(rotatedFrom.endsAt);
    const expiresAt = new Date(Date.parse(rotatedFrom.endsAt) + 1).toISOString();
    expect(outcome(await tryMake(manager.apiKey, { parent: long.id, expiresAt }))).toEqual([403, 'key_outlives_maker']);
  });
});

describe('how large a tree grows', () => {
  test('to eight levels with the root', async () => {
    const { key } = await service.client.register();
    let [level, last] = [1, key];
    for (; level < 8; level++) last = (await make(last)).apiKey;
    expect(outcome(await tryMake(last))).toEqual([409, 'key_tree_too_deep']);
    expect((await rotate(last, await idOf(last))).status).toBe(201);
    expect(await listed(key)).toHaveLength(9);
  });

  test('to 1,000 working keys, also when several are created at once; signing in and rotating go on', async () => {
    const { key, email, password, handle } = await service.client.register();
    await db().query(
      `INSERT INTO api_keys (id, account_id, key_hash, name, last4, revoked_at, expires_at, created_at)
       SELECT 'key_' || $1 || n, a.id, sha256(($1 || n)::bytea), 'one of many', 'last',
              CASE WHEN n <= 100 THEN now() END, CASE WHEN n BETWEEN 101 AND 200 THEN now() END,
              now() - CASE WHEN n BETWEEN 201 AND 300 THEN interval '91 days' ELSE '0' END
         FROM accounts a, generate_series(1, 1297) n WHERE a.handle = $1`,
      [handle],
    );
    const replies = await Promise.all(Array.from({ length: 6 }, () => tryMake(key)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409, 409]);
    expect(replies.find(({ status }) => status === 409)?.body.code).toBe('too_many_keys');
    const made: Made = replies.find(({ status }) => status === 201)?.body;
    expect((await service.client.post('/agent/register', { email, password })).status).toBe(200);
    expect((await rotate(key, made.id)).status).toBe(201);
    for (let n = 0; n < 3; n++) {
      expect(outcome(await tryMake(key))).toEqual([409, 'too_many_keys']);
      await revoke(key, `key_${handle}${301 + n}`);
    }
    expect((await tryMake(key)).status).toBe(201);
  });
});

describe('revoking a key', () => {
  test('revokes all keys below it in the same commit, and no other', async () => {
    const { key, child, grandchild } = await newFamily();
    const [deep, sibling] = [await make(grandchild.apiKey), await make(key)];
    expect((await revoke(key, child.id)).status).toBe(200);
    expect(await allWork([child, grandchild, deep, sibling])).toEqual([false, false, false, true]);
    const at = await revokedAt(child.id);
    expect(at).not.toBeNull();
    expect([await revokedAt(grandchild.id), await revokedAt(deep.id)]).toEqual([at, at]);
    const { entries } = (await service.client.get('/account/audit?action=key.revoked', key)).body;
    expect(entries).toMatchObject([{ details: { key: child.id, keys: 3, webhooks: [] } }]);
  });

  test('which revokes itself ends the keys below it too', async () => {
    const { key, child, grandchild } = await newFamily();
    expect((await service.client.post('/account/revoke-key', undefined, child.apiKey)).status).toBe(200);
    expect([await works(key), ...(await allWork([child, grandchild]))]).toEqual([true, false, false]);
  });

  test('names the webhooks of all keys that ended, also afterwards, and ends them when asked to', async () => {
    const { key, child, grandchild } = await newFamily();
    const url = 'https://agent.example.com/hook';
    const hook = { url, events: ['payment.sent'] };
    const { body: mine } = await service.client.post('/webhooks', hook, key);
    const { body: theirs } = await service.client.post('/webhooks', hook, grandchild.apiKey);
    const named = [{ id: theirs.id, url }];
    expect((await revoke(key, child.id)).body.webhooks).toEqual(named);
    expect((await revoke(key, child.id)).body.webhooks).toEqual(named);
    expect((await revoke(key, `${child.id}?endWebhooks=true`)).body.webhooks).toEqual(named);
    const { webhooks } = (await service.client.get('/webhooks', key)).body;
    expect(webhooks.map(({ id }: { id: string }) => id)).toEqual([mine.id]);
  });

  test('that has expired or was not used for long leaves the keys below it, until it is revoked', async () => {
    const { key, child, grandchild } = await newFamily();
    await db().query("UPDATE api_keys SET created_at = now() - interval '91 days', last_used_at = NULL WHERE id = $1", [
      child.id,
    ]);
    expect((await listed(key)).map(({ id }) => id)).not.toContain(child.id);
    expect(await works(grandchild.apiKey)).toBe(true);
    expect((await listed(key)).find(({ id }) => id === grandchild.id)?.parent).toBe(child.id);
    await revoke(key, child.id);
    expect(await works(grandchild.apiKey)).toBe(false);
  });

  test('while keys are created below it leaves none of them', async () => {
    const { key, handle, child } = await newFamily();
    const noise = Array.from({ length: 10 }, () => tryMake(child.apiKey));
    const other = Array.from({ length: 5 }, () => tryMake(key, { parent: child.id }));
    const replies = await Promise.all([...noise, revoke(key, child.id), ...other]);
    const statuses = new Set(replies.map(({ status }) => status));
    expect([...statuses].filter((status) => ![200, 201, 401, 404].includes(status))).toEqual([]);
    const { rows } = await db().query(
      `SELECT k.id FROM api_keys k JOIN accounts a ON a.id = k.account_id
        WHERE a.handle = $1 AND k.revoked_at IS NULL AND $2 = ANY (k.path)`,
      [handle, child.id],
    );
    expect(rows).toEqual([]);
  });

  test('with very many: all but the last few end before, children first, and the key in use stays with those above', async () => {
    const { handle, child, grandchild, key } = await newFamily();
    const sibling = await make(key);
    const accountId = await accountIdOf(handle);
    await db().query(
      `INSERT INTO api_keys (id, account_id, key_hash, name, last4)
       SELECT 'key_~' || $2 || n, $1, sha256(($2 || n)::bytea), 'one of many', 'last' FROM generate_series(1, 10000) n`,
      [accountId, handle],
    );
    const by = { operator: 'olga' };
    expect(await revokeMostKeys(db(), { accountId, by, except: grandchild.id })).toBe(10_000);
    const ended = await Promise.all([await idOf(key), child.id, grandchild.id, sibling.id].map(revokedAt));
    expect(ended).toEqual([null, null, null, expect.any(String)]);
    expect(await revokeMostKeys(db(), { accountId, by })).toBe(0);
  });
});

describe('rotating a key', () => {
  test('keeps its place and the keys below it', async () => {
    const { key, child, grandchild } = await newFamily();
    const { status, body } = await rotate(key, child.id);
    expect([status, body.parent]).toEqual([201, await idOf(key)]);
    const parentOfGrandchild = async () => (await listed(key)).find(({ id }) => id === grandchild.id)?.parent;
    expect(await parentOfGrandchild()).toBe(body.id);
    expect((await make(body.apiKey)).parent).toBe(body.id);
    await revoke(key, child.id);
    expect(await allWork([child, body, grandchild])).toEqual([false, true, true]);
    expect((await make(body.apiKey, { parent: grandchild.id })).parent).toBe(grandchild.id);
    await revoke(key, body.id);
    expect(await allWork([body, grandchild])).toEqual([false, false]);
  });

  test('without an overlap keeps them too', async () => {
    const { key, child, grandchild } = await newFamily();
    const { body } = await rotate(key, child.id, { overlapSeconds: 0 });
    expect(await allWork([child, body, grandchild])).toEqual([false, true, true]);
    const { rows } = await db().query('SELECT place, path FROM api_keys WHERE id = $1', [body.id]);
    expect(rows).toEqual([{ place: child.id, path: [expect.any(String), child.id] }]);
  });

  test('and revoking the new one ends only it while the old one works, and the keys below afterwards', async () => {
    const { key, child, grandchild } = await newFamily();
    const { body: lost } = await rotate(key, child.id);
    await revoke(key, lost.id);
    expect(await allWork([lost, child, grandchild])).toEqual([false, true, true]);
    const { body: next } = await rotate(key, child.id);
    await db().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [child.id]);
    expect(await works(grandchild.apiKey)).toBe(true);
    await revoke(key, next.id);
    expect(await works(grandchild.apiKey)).toBe(false);
  });

  test('is for keys below: with the place of another key, a key would escape its own policy', async () => {
    const { key, email, password, child, grandchild } = await newFamily();
    const sibling = await make(key);
    for (const id of [child.id, sibling.id, await idOf(key)])
      expect(outcome(await rotate(grandchild.apiKey, id))).toEqual([403, 'not_an_ancestor']);
    expect((await rotate(key, grandchild.id)).status).toBe(201);
    const other = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    expect(outcome(await rotate(other, child.id))).toEqual([403, 'not_an_ancestor']);
    expect((await rotate(other, await idOf(key))).status).toBe(201);
  });
});
