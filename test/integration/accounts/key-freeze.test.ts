import { describe, expect, test } from 'vitest';
import { readPlace } from '../../../src/accounts/keys/place.ts';
import { lockOwner } from '../../../src/ledger/require-live-key.ts';
import type { Reply } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;

interface Made {
  readonly id: string;
  readonly apiKey: string;
}

const tryMake = (by: string, wish: object = {}) => service.client.post('/account/keys', { name: 'Agent', ...wish }, by);
const make = async (by: string, wish: object = {}): Promise<Made> => (await tryMake(by, wish)).body;
const freeze = (by: string, id: string) => service.client.post(`/account/keys/${id}/freeze`, undefined, by);
const unfreeze = (by: string, id: string) => service.client.post(`/account/keys/${id}/unfreeze`, undefined, by);
const rotate = (by: string, id: string) => service.client.post(`/account/keys/${id}/rotate`, undefined, by);
const revoke = (by: string, id: string) => service.client.request('DELETE', `/account/keys/${id}`, { key: by });
const outcome = ({ status, body }: Reply) => [status, body.code];

async function listed(by: string): Promise<{ id: string; current: boolean; frozen: boolean }[]> {
  return (await service.client.get('/account/keys', by)).body.keys;
}
const idOf = async (key: string) => (await listed(key)).find(({ current }) => current)?.id ?? '';
const frozenOnes = async (by: string) => (await listed(by)).filter(({ frozen }) => frozen).map(({ id }) => id);

async function newFamily() {
  const account = await service.client.register();
  const { key, email, password } = account;
  const child = await make(key);
  const grandchild = await make(child.apiKey);
  const signIn = async (): Promise<string> =>
    (await service.client.post('/agent/register', { email, password })).body.apiKey;
  return { ...account, root: await idOf(key), child, grandchild, signIn };
}

async function accountIdOf(handle: string): Promise<bigint> {
  const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return rows[0]?.id ?? 0n;
}

async function waitingForLocks(): Promise<number> {
  const { rows } = await db().query<{ count: number }>(
    `SELECT count(*)::integer FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
  );
  return rows[0]?.count ?? 0;
}

async function stampOf(handle: string): Promise<bigint | undefined> {
  const { rows } = await db().query<{ stamp: bigint }>(
    'SELECT s.stamp FROM key_stamps s JOIN accounts a ON a.id = s.account_id WHERE a.handle = $1',
    [handle],
  );
  return rows[0]?.stamp;
}

describe('freezing a key', () => {
  test('freezes all keys below it, and changes the stamp of the account', async () => {
    const { key, handle, child, grandchild } = await newFamily();
    const sibling = await make(key);
    expect(await stampOf(handle)).toBeUndefined();
    const { status, body } = await freeze(key, child.id);
    expect([status, body]).toEqual([200, { id: child.id, frozen: true }]);
    expect(await stampOf(handle)).toBe(1n);
    expect(await frozenOnes(key)).toEqual([grandchild.id, child.id]);
    expect((await tryMake(key, { parent: grandchild.id })).body.frozen).toBe(true);
    expect((await make(key, { parent: sibling.id })).id).toMatch(/^key_/);
    expect((await freeze(key, child.id)).body).toEqual({ id: child.id, frozen: true });
    const { entries } = (await service.client.get('/account/audit?action=key.frozen', key)).body;
    expect(entries).toMatchObject([{ details: { key: child.id }, address: '127.0.0.1' }]);
  });

  test('is for every key with manage, also about itself and those above, but not about another account', async () => {
    const { key, root, child, grandchild, signIn } = await newFamily();
    const reader = await make(key, { scopes: ['read', 'pay', 'withdraw'] });
    const stranger = await service.client.register();
    expect(outcome(await freeze(reader.apiKey, child.id))).toEqual([403, 'scope_required']);
    expect(outcome(await freeze(stranger.key, child.id))).toEqual([404, 'key_not_found']);
    expect(outcome(await freeze(key, 'key_x'))).toEqual([404, 'key_not_found']);
    expect(await frozenOnes(key)).toEqual([]);
    expect((await freeze(grandchild.apiKey, grandchild.id)).status).toBe(200);
    expect((await freeze(child.apiKey, root)).status).toBe(200);
    expect((await freeze(await signIn(), child.id)).status).toBe(200);
  });

  test('leaves it reading, and able to end itself, but not to change keys', async () => {
    const { key, root, child, grandchild } = await newFamily();
    const sibling = await make(key);
    await freeze(key, child.id);
    for (const { apiKey, id } of [child, grandchild]) {
      expect((await service.client.get('/account', apiKey)).status).toBe(200);
      expect(await listed(apiKey)).toHaveLength(4);
      const refused = [
        await tryMake(apiKey),
        await rotate(apiKey, id),
        await freeze(apiKey, sibling.id),
        await unfreeze(apiKey, grandchild.id),
        await revoke(apiKey, root),
        await service.client.post('/account/keys/revoke-all', undefined, apiKey),
      ];
      expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'key_frozen']));
    }
    expect((await revoke(grandchild.apiKey, grandchild.id)).status).toBe(200);
    expect((await service.client.post('/account/revoke-key', undefined, child.apiKey)).status).toBe(200);
    expect((await listed(key)).map(({ id }) => id)).toEqual([sibling.id, root]);
  });

  test('refuses requests of the key that were under way when it was frozen', async () => {
    const { key, handle, child, grandchild } = await newFamily();
    const accountId = await accountIdOf(handle);
    let underWay: Promise<Reply>[] = [];
    await db().transaction(async (tx) => {
      await lockOwner(tx, accountId);
      const { apiKey } = grandchild;
      underWay = [tryMake(apiKey), rotate(apiKey, grandchild.id), revoke(apiKey, child.id), freeze(apiKey, child.id)];
      await expect.poll(waitingForLocks).toBeGreaterThanOrEqual(underWay.length);
      await tx.query('INSERT INTO frozen_places (place, account_id) VALUES ($1, $2)', [child.id, accountId]);
    });
    expect((await Promise.all(underWay)).map(outcome)).toEqual(underWay.map(() => [403, 'key_frozen']));
    expect(await listed(key)).toHaveLength(3);
  });

  test('outlasts its rotation', async () => {
    const { key, handle, child, grandchild } = await newFamily();
    await freeze(key, child.id);
    const { body } = await rotate(key, child.id);
    expect(body.frozen).toBe(true);
    expect(await frozenOnes(key)).toEqual([body.id, grandchild.id, child.id]);
    const placed = await readPlace(db(), { accountId: await accountIdOf(handle), keyId: body.id });
    expect(placed).toMatchObject({ place: child.id, path: [expect.any(String), child.id], isFrozen: true });
    expect((await unfreeze(key, child.id)).body.frozen).toBe(false);
    expect(await frozenOnes(key)).toEqual([]);
  });
});

describe('unfreezing a key', () => {
  test('is for keys above it', async () => {
    const { key, child, grandchild, signIn } = await newFamily();
    const [sibling, manager] = [await make(key), await make(key, { scopes: ['read', 'pay'] })];
    await freeze(key, grandchild.id);
    const stranger = await service.client.register();
    expect(outcome(await unfreeze(stranger.key, grandchild.id))).toEqual([404, 'key_not_found']);
    expect(outcome(await unfreeze(key, 'key_x'))).toEqual([404, 'key_not_found']);
    expect(outcome(await unfreeze(manager.apiKey, grandchild.id))).toEqual([403, 'scope_required']);
    expect(outcome(await unfreeze(grandchild.apiKey, grandchild.id))).toEqual([403, 'key_frozen']);
    for (const by of [sibling.apiKey, await signIn()])
      expect(outcome(await unfreeze(by, grandchild.id))).toEqual([403, 'not_an_ancestor']);
    expect(await frozenOnes(key)).toEqual([grandchild.id]);
    const { status, body } = await unfreeze(child.apiKey, grandchild.id);
    expect([status, body]).toEqual([200, { id: grandchild.id, frozen: false }]);
    expect((await tryMake(grandchild.apiKey)).status).toBe(201);
    expect(outcome(await unfreeze(child.apiKey, child.id))).toEqual([403, 'not_an_ancestor']);
  });

  test('says so while a key above it is still frozen, and leaves keys below frozen that were frozen themselves', async () => {
    const { key, child, grandchild } = await newFamily();
    await freeze(key, child.id);
    await freeze(key, grandchild.id);
    expect((await unfreeze(key, grandchild.id)).body).toEqual({ id: grandchild.id, frozen: true });
    expect((await unfreeze(key, grandchild.id)).body).toEqual({ id: grandchild.id, frozen: true });
    await freeze(key, grandchild.id);
    expect((await unfreeze(key, child.id)).body).toEqual({ id: child.id, frozen: false });
    expect(await frozenOnes(key)).toEqual([grandchild.id]);
  });

  test('which is a root, is for another root that may do as much', async () => {
    const { key, root, child, signIn } = await newFamily();
    await freeze(child.apiKey, root);
    expect(outcome(await unfreeze(key, root))).toEqual([403, 'key_frozen']);
    const other = await signIn();
    const below = await make(other);
    expect(outcome(await unfreeze(below.apiKey, root))).toEqual([403, 'not_an_ancestor']);
    await db().query("UPDATE api_keys SET scopes = '{read,manage}' WHERE id = $1", [await idOf(other)]);
    expect(outcome(await unfreeze(other, root))).toEqual([403, 'scope_required']);
    expect((await unfreeze(await signIn(), root)).body).toEqual({ id: root, frozen: false });
    expect(await frozenOnes(key)).toEqual([]);
  });

  test('is audited and mailed to the owner once, and counted', async () => {
    const { key, handle, child } = await newFamily();
    const unfrozen = async () => {
      const { entries } = (await service.client.get('/account/audit?action=key.unfrozen', key)).body;
      const { messages } = (await service.client.get('/sandbox/messages', key)).body;
      const mails = messages.filter(({ subject }: { subject: string }) => subject.includes('unfrozen'));
      return { entries, mails };
    };
    await unfreeze(key, child.id);
    expect(await unfrozen()).toEqual({ entries: [], mails: [] });
    await freeze(key, child.id);
    await unfreeze(key, child.id);
    await unfreeze(key, child.id);
    const { entries, mails } = await unfrozen();
    expect(entries).toMatchObject([{ details: { key: child.id } }]);
    expect(mails).toHaveLength(1);
    expect(mails[0].text).toContain(child.apiKey.slice(-4));
    await db().query(
      `INSERT INTO message_counts (day, scope, count)
       SELECT (now() AT TIME ZONE 'UTC')::date, 'settings:account:' || id, 200 FROM accounts WHERE handle = $1
       ON CONFLICT (day, scope) DO UPDATE SET count = 200`,
      [handle],
    );
    expect((await freeze(key, child.id)).status).toBe(200);
    expect(outcome(await unfreeze(key, child.id))).toEqual([429, 'daily_cap_reached']);
    expect(await frozenOnes(key)).toContain(child.id);
  });
});

test('a frozen key directs no money and no events elsewhere, but may still protect the account', async () => {
  const { key, child, grandchild } = await newFamily();
  await freeze(key, child.id);
  const address = '0x52908400098527886E0F7030069857D2E4169EE7';
  const list = '/account/withdrawal-addresses';
  const switchTo = (enabled: boolean) =>
    service.client.request('PUT', `${list}/allow-list`, { key: grandchild.apiKey, body: { enabled } });
  const refused = [403, 'key_frozen'];
  const hook = { url: 'https://agent.example.com/x', events: ['payment.sent'] };
  expect(outcome(await service.client.post('/webhooks', hook, grandchild.apiKey))).toEqual(refused);
  const change = { withdrawalAddress: address };
  expect(outcome(await service.client.patch('/account', change, grandchild.apiKey))).toEqual(refused);
  expect(outcome(await service.client.post(list, { address }, grandchild.apiKey))).toEqual(refused);
  expect((await switchTo(true)).status).toBe(200);
  expect(outcome(await switchTo(false))).toEqual(refused);
  expect((await service.client.get('/account', key)).body.withdrawalAddress ?? null).toBeNull();
});
