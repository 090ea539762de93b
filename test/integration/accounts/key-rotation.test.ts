import { describe, expect, test } from 'vitest';
import type { Reply } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;
const hourMs = 60 * 60_000;

const rotate = (by: string, id: string, body?: object) => service.client.post(`/account/keys/${id}/rotate`, body, by);
const make = async (by: string, wish: object = {}): Promise<{ id: string; apiKey: string; expiresAt: string }> =>
  (await service.client.post('/account/keys', { name: 'Agent', ...wish }, by)).body;
const revoke = (by: string, id: string) => service.client.request('DELETE', `/account/keys/${id}`, { key: by });
const listed = async (
  by: string,
): Promise<{ id: string; current: boolean; rotatedTo: string | null; expiresAt: string }[]> =>
  (await service.client.get('/account/keys', by)).body.keys;
const works = async (key: string) => (await service.client.get('/account', key)).status === 200;
const outcome = ({ status, body }: Reply) => [status, body.code];
const idOf = async (key: string) => (await listed(key)).find(({ current }) => current)?.id ?? '';
const audited = async (by: string): Promise<{ action: string; details: object }[]> =>
  (await service.client.get('/account/audit', by)).body.entries;

/** As if the overlap were over. */
const passOverlap = (id: string) =>
  db().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);

describe('rotating a key', () => {
  test('gives a new one with the same name, scopes and expiry, and leaves the old one an hour', async () => {
    const { key } = await service.client.register();
    const expiresAt = new Date(Date.now() + 48 * hourMs).toISOString();
    const old = await make(key, { name: 'Shop', scopes: ['read', 'pay'], expiresAt });
    const { status, body } = await rotate(key, old.id);
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: 'Shop', scopes: ['read', 'pay'], expiresAt, rotatedTo: null, current: false });
    expect(body.apiKey).not.toBe(old.apiKey);
    expect(body.rotatedFrom.id).toBe(old.id);
    const left = Date.parse(body.rotatedFrom.endsAt) - Date.now();
    expect(left).toBeGreaterThan(0.9 * hourMs);
    expect(left).toBeLessThanOrEqual(hourMs);
    expect([await works(old.apiKey), await works(body.apiKey)]).toEqual([true, true]);
    const shown = (await listed(key)).find(({ id }) => id === old.id);
    expect(shown).toMatchObject({ rotatedTo: body.id, expiresAt: body.rotatedFrom.endsAt });
    const [entry] = await audited(key);
    expect(entry).toMatchObject({
      action: 'key.rotated',
      details: { key: old.id, to: body.id, endsAt: body.rotatedFrom.endsAt },
    });
    expect(JSON.stringify(await audited(key))).not.toContain(body.apiKey);
  });

  test('without an overlap ends the old one at once, also the one that calls', async () => {
    const { key } = await service.client.register();
    const { body } = await rotate(key, await idOf(key), { overlapSeconds: 0 });
    expect([await works(key), await works(body.apiKey)]).toEqual([false, true]);
    expect((await audited(body.apiKey)).slice(0, 2).map(({ action }) => action)).toEqual([
      'key.revoked',
      'key.rotated',
    ]);
    expect(await listed(body.apiKey)).toHaveLength(1);
  });

  test('the old one is refused once the overlap is over, and may not send money either', async () => {
    const { key } = await service.client.register();
    const id = await idOf(key);
    const { body } = await rotate(key, id, { overlapSeconds: 1 });
    await passOverlap(id);
    await expect.poll(() => works(key)).toBe(false);
    expect(await works(body.apiKey)).toBe(true);
    expect((await listed(body.apiKey)).map((one) => one.id)).toEqual([body.id]);
  });

  test('an overlap gives no key a longer life', async () => {
    const { key } = await service.client.register();
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const old = await make(key, { expiresAt });
    const { body } = await rotate(key, old.id, { overlapSeconds: 86_400 });
    expect([body.expiresAt, body.rotatedFrom.endsAt]).toEqual([expiresAt, expiresAt]);
  });

  test.each([-1, 86_401, 1.5, '60', true])('refuses an overlap of %j', async (overlapSeconds) => {
    const { key } = await service.client.register();
    expect(outcome(await rotate(key, await idOf(key), { overlapSeconds }))).toEqual([400, 'invalid_request']);
    expect(await listed(key)).toHaveLength(1);
  });

  test('keeps no answer for an Idempotency-Key: it holds a secret', async () => {
    const { key } = await service.client.register();
    const headers = { 'idempotency-key': 'rotate-once' };
    const path = `/account/keys/${await idOf(key)}/rotate`;
    const { body } = await service.client.request('POST', path, { key, headers, body: {} });
    const again = await service.client.request('POST', path, { key, headers, body: {} });
    expect(outcome(again)).toEqual([409, 'key_already_rotated']);
    const { rows } = await db().query('SELECT answer::text FROM ledger.idempotency_keys WHERE answer::text LIKE $1', [
      `%${body.apiKey}%`,
    ]);
    expect(rows).toEqual([]);
  });

  test('counts against the cap of keys', async () => {
    const { key, handle } = await service.client.register();
    await db().query(
      `INSERT INTO message_counts (day, scope, count)
       SELECT (now() AT TIME ZONE 'UTC')::date, 'keys:account:' || id, 500 FROM accounts WHERE handle = $1`,
      [handle],
    );
    expect(outcome(await rotate(key, await idOf(key)))).toEqual([429, 'daily_cap_reached']);
    expect((await listed(key)).map(({ rotatedTo }) => rotatedTo)).toEqual([null]);
  });

  test('mails the owner about a key that may withdraw', async () => {
    const { key } = await service.client.register();
    await rotate(key, await idOf(key));
    const { body } = await service.client.get('/sandbox/messages', key);
    expect(body.messages[0].subject).toBe('An API key that can withdraw from your account was replaced');
  });
});

describe('who may rotate', () => {
  test('only a key with the scope manage, also when it is its own', async () => {
    const { key } = await service.client.register();
    const payer = await make(key, { scopes: ['read', 'pay'] });
    const refused = await rotate(payer.apiKey, payer.id);
    expect([...outcome(refused), refused.body.scope]).toEqual([403, 'scope_required', 'manage']);
  });

  test('no key rotates one that may do more', async () => {
    const { key } = await service.client.register();
    const manager = await make(key, { scopes: ['read', 'manage'] });
    const refused = await rotate(manager.apiKey, await idOf(key));
    expect([...outcome(refused), refused.body.scope]).toEqual([403, 'scope_required', 'pay']);
    expect((await rotate(manager.apiKey, manager.id)).status).toBe(201);
  });

  test('no key rotates one that lives longer, so a rotated key cannot go on by rotating another', async () => {
    const { key } = await service.client.register();
    const other = await make(key);
    await rotate(key, await idOf(key), { overlapSeconds: 600 });
    expect(outcome(await rotate(key, other.id))).toEqual([403, 'key_outlives_maker']);
    const short = await make(key, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    expect((await rotate(key, short.id)).status).toBe(201);
  });

  test('a key of another account is not found', async () => {
    const [one, other] = [await service.client.register(), await service.client.register()];
    expect(outcome(await rotate(one.key, await idOf(other.key)))).toEqual([404, 'key_not_found']);
    expect(outcome(await rotate(one.key, 'key_x'))).toEqual([404, 'key_not_found']);
  });
});

describe('a key that was rotated or has ended', () => {
  test('cannot be rotated', async () => {
    const { key } = await service.client.register();
    const [revoked, expired, idle] = [await make(key), await make(key), await make(key)];
    await revoke(key, revoked.id);
    await passOverlap(expired.id);
    await db().query("UPDATE api_keys SET created_at = now() - interval '91 days' WHERE id = $1", [idle.id]);
    for (const { id } of [revoked, expired, idle]) expect(outcome(await rotate(key, id))).toEqual([409, 'key_ended']);
  });

  test('of two rotations at once, one wins', async () => {
    const { key } = await service.client.register();
    const old = await make(key);
    const replies = await Promise.all(Array.from({ length: 6 }, () => rotate(key, old.id)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    const lost = replies.find(({ status }) => status === 409);
    expect(lost?.body.code).toBe('key_already_rotated');
    expect(await listed(key)).toHaveLength(3);
  });

  test('of two rotations at once without an overlap, one wins too', async () => {
    const { key } = await service.client.register();
    const id = await idOf(key);
    const replies = await Promise.all(Array.from({ length: 4 }, () => rotate(key, id, { overlapSeconds: 0 })));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 401, 401, 401]);
  });

  test('the new one can be rotated in turn', async () => {
    const { key } = await service.client.register();
    const { body: second } = await rotate(key, await idOf(key));
    const { body: third } = await rotate(second.apiKey, second.id);
    expect(third.rotatedFrom.id).toBe(second.id);
    expect(await works(third.apiKey)).toBe(true);
  });

  test('if the answer was lost: revoke the new one, and rotate again with the life of the first', async () => {
    const { key } = await service.client.register();
    const expiresAt = new Date(Date.now() + 48 * hourMs).toISOString();
    const old = await make(key, { expiresAt });
    const { body: lost } = await rotate(old.apiKey, old.id);
    const [, rotated] = await listed(old.apiKey);
    expect(rotated?.rotatedTo).toBe(lost.id);
    await revoke(old.apiKey, lost.id);
    const { status, body } = await rotate(old.apiKey, old.id, { overlapSeconds: 86_400 });
    expect([status, body.expiresAt]).toEqual([201, expiresAt]);
    expect(body.rotatedFrom.endsAt).toBe(lost.rotatedFrom.endsAt);
  });

  test('once the new one was used, revoking it gives the old one nothing back', async () => {
    const { key } = await service.client.register();
    const old = await make(key);
    const { body } = await rotate(key, old.id);
    expect(await works(body.apiKey)).toBe(true);
    await revoke(key, body.id);
    expect(outcome(await rotate(old.apiKey, old.id))).toEqual([409, 'key_already_rotated']);
  });

  test('revoking the old one early leaves the new one', async () => {
    const { key } = await service.client.register();
    const old = await make(key);
    const { body } = await rotate(key, old.id);
    expect((await revoke(key, old.id)).status).toBe(200);
    expect([await works(old.apiKey), await works(body.apiKey)]).toEqual([false, true]);
  });
});

test('webhooks follow the new key', async () => {
  const { key } = await service.client.register();
  const old = await make(key);
  const hook = { url: 'https://agent.example.com/hook', events: ['payment.sent'] };
  const { body: webhook } = await service.client.post('/webhooks', hook, old.apiKey);
  const { body: lost } = await rotate(key, old.id);
  expect((await revoke(key, lost.id)).body.webhooks).toEqual([{ id: webhook.id, url: hook.url }]);
  const { body } = await rotate(key, old.id);
  expect((await revoke(key, old.id)).body.webhooks).toEqual([]);
  expect((await revoke(key, body.id)).body.webhooks).toEqual([{ id: webhook.id, url: hook.url }]);
});
