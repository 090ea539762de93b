import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addAccountCommands } from '../../../src/accounts/commands.ts';
import { createKeyUses } from '../../../src/accounts/keys/key-cache.ts';
import { addKeyCommands } from '../../../src/accounts/keys/key-commands.ts';
import { keysEnded } from '../../../src/accounts/keys/on-keys-ended.ts';
import { features } from '../../../src/app/features.ts';
import { hooksOf } from '../../../src/app/listed-feature.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { type Scope, scopes } from '../../../src/kernel/http/define-route.ts';
import type { OpenApiDocument } from '../../../src/kernel/http/openapi.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { lockOwner } from '../../../src/ledger/require-live-key.ts';
import type { Reply } from '../../support/client.ts';
import { startService, useService } from '../../support/service.ts';

const service = useService();
const db = () => service.database.db;
const dayMs = 24 * 60 * 60_000;

const make = (by: string, wish: object = {}) => service.client.post('/account/keys', { name: 'Agent', ...wish }, by);
const makeKey = async (by: string, wish: object = {}): Promise<string> => (await make(by, wish)).body.apiKey;
const end = (by: string, path: string) => service.client.request('DELETE', `/account/keys/${path}`, { key: by });
const listed = async (by: string) => (await service.client.get('/account/keys', by)).body.keys;
const works = async (key: string) => (await service.client.get('/account', key)).status === 200;
const outcome = ({ status, body }: Reply) => [status, body.code];

async function idOf(key: string): Promise<string> {
  const keys: { id: string; current: boolean }[] = await listed(key);
  return keys.find(({ current }) => current)?.id ?? '';
}

async function addWebhook(by: string, path = 'hook'): Promise<{ id: string; url: string }> {
  const url = `https://agent.example.com/${path}`;
  const { body } = await service.client.post('/webhooks', { url, events: ['payment.sent'] }, by);
  return { id: body.id, url };
}

/** Runs a command as the operator would. */
async function paywright(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const program = new Command('paywright').exitOverride();
  const tools = {
    withDatabase: (work: (db: Database, settings: { idleMs: number }) => Promise<void>) =>
      work(db(), { idleMs: 90 * dayMs }),
    say: (line: string) => void lines.push(line),
    operator: 'olga',
    onKeysEnded: hooksOf(features)(keysEnded),
  };
  addKeyCommands(addAccountCommands(program, tools), tools);
  await program.parseAsync(['node', 'paywright', ...args]);
  return lines;
}

describe('what a key may do', () => {
  test('every operation refuses a key without the scope that it declares, and takes one that has nothing else', async () => {
    const document: OpenApiDocument = (await service.client.get('/openapi.json')).body;
    const { key } = await service.client.register();
    const without = new Map<Scope, string>();
    const only = new Map<Scope, string>();
    for (const scope of scopes) {
      without.set(scope, await makeKey(key, { scopes: scopes.filter((one) => one !== scope) }));
      only.set(scope, await makeKey(key, { scopes: [scope] }));
    }
    let seen = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const scope = operation['x-scope'] ?? operation['x-scope-of-key'];
        if (scope === undefined || scope === 'any') continue;
        const call = (by: string | undefined) =>
          service.client.request(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), { key: by ?? '' });
        const refused = await call(without.get(scope));
        expect([path, ...outcome(refused), refused.body.scope]).toEqual([path, 403, 'scope_required', scope]);
        expect(refused.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
        seen++;
        if (path === '/account/keys/revoke-all') continue;
        expect([path, (await call(only.get(scope))).body.code]).not.toEqual([path, 'scope_required']);
      }
    }
    expect(seen).toBeGreaterThan(60);
  });

  test('a call that is sold to everybody is paid from the balance only by a key that may pay', async () => {
    const { key } = await service.client.register();
    const reader = await makeKey(key, { scopes: ['read'] });
    const path = '/nano/lookup?handle=PA-AAAAAAAA';
    expect(outcome(await service.client.get(path, reader))).toEqual([403, 'scope_required']);
    expect([(await service.client.get(path)).status, (await service.client.get(path, key)).status]).toEqual([402, 402]);
  });

  test('registering and signing in give a key that may do everything, and say when it ends', async () => {
    const { email, password, key } = await service.client.register();
    for (const path of ['/agent/register', '/circle/register']) {
      const { body } = await service.client.post(path, { email, password });
      const days = (Date.parse(body.keyExpiresAt) - Date.now()) / dayMs;
      expect(days).toBeGreaterThan(89.9);
      expect(days).toBeLessThan(90.1);
    }
    const keys: { scopes: Scope[]; name: string }[] = await listed(key);
    expect(keys.map(({ name, scopes: may }) => [name, may])).toEqual([
      ['Sign-in', [...scopes]],
      ['Sign-in', [...scopes]],
      ['Registration', [...scopes]],
    ]);
  });

  test('whatever a key may do, it may end itself', async () => {
    const { key } = await service.client.register();
    const reader = await makeKey(key, { scopes: ['read'] });
    expect((await service.client.post('/account/revoke-key', undefined, reader)).body).toEqual({
      revoked: true,
      webhooks: [],
    });
    expect([await works(reader), await works(key)]).toEqual([false, true]);
  });
});

describe('making a key', () => {
  test('shows it once, and lists it from then on', async () => {
    const { key } = await service.client.register();
    const expiresAt = new Date(Date.now() + dayMs).toISOString();
    const { status, body } = await make(key, { name: ' Shopping agent ', scopes: ['pay', 'read', 'pay'], expiresAt });
    expect(status).toBe(201);
    const { apiKey, ...told } = body;
    expect(told).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'Shopping agent',
      last4: apiKey.slice(-4),
      scopes: ['read', 'pay'],
      parent: await idOf(key),
      client: null,
      frozen: false,
      createdAt: expect.any(String),
      lastUsedAt: null,
      lastUsedFrom: null,
      expiresAt,
      current: false,
      rotatedTo: null,
    });
    expect((await service.client.get('/account/keys', key)).body).toMatchObject({
      keys: [told, { name: 'Registration', last4: key.slice(-4), parent: null, frozen: false, current: true }],
      nextCursor: null,
    });
    expect(await works(apiKey)).toBe(true);
    expect(JSON.stringify(await listed(apiKey))).not.toContain(apiKey);
  });

  test('a list goes page by page', async () => {
    const { key } = await service.client.register();
    for (const name of ['One', 'Two']) await make(key, { name });
    const first = (await service.client.get('/account/keys?limit=2', key)).body;
    const second = (await service.client.get(`/account/keys?limit=2&cursor=${first.nextCursor}`, key)).body;
    const names = [...first.keys, ...second.keys].map(({ name }: { name: string }) => name);
    expect([names, second.nextCursor]).toEqual([['Two', 'One', 'Registration'], null]);
  });

  test('a key makes none that may do more than itself, or for longer', async () => {
    const { key } = await service.client.register();
    const end = new Date(Date.now() + dayMs);
    const wish = { scopes: ['read', 'manage'], expiresAt: end.toISOString() };
    const manager = (await make(key, wish)).body.apiKey;
    const refused = await make(manager, { scopes: ['read', 'withdraw'] });
    expect([...outcome(refused), refused.body.scope]).toEqual([403, 'scope_required', 'withdraw']);
    const later = new Date(end.getTime() + 1).toISOString();
    expect(outcome(await make(manager, { expiresAt: later }))).toEqual([403, 'key_outlives_maker']);
    // What is left out is as with its maker.
    expect((await make(manager)).body).toMatchObject(wish);
    expect((await make(manager, { scopes: ['read'] })).body).toMatchObject({ ...wish, scopes: ['read'] });
    const reader = await makeKey(key, { scopes: ['read', 'pay', 'withdraw'] });
    expect(outcome(await make(reader, { scopes: ['read'] }))).toEqual([403, 'scope_required']);
    expect(outcome(await service.client.get('/account/keys', await makeKey(key, { scopes: ['pay'] })))).toEqual([
      403,
      'scope_required',
    ]);
  });

  test.each([
    {},
    { name: '' },
    { name: 'x'.repeat(101) },
    { name: 'hid\u200bden' },
    { name: 'back\u202ewards' },
    { name: 'A', scopes: [] },
    { name: 'A', scopes: ['admin'] },
    { name: 'A', scopes: 'read' },
    { name: 'A', scopes: ['any'] },
    { name: 'A', expiresAt: 'tomorrow' },
    { name: 'A', expiresAt: '2020-01-01T00:00:00Z' },
    { name: 'A', expiresAt: '9999-12-31T23:59:59-01:00' },
    { name: 'A', expiresAt: '' },
    { name: 'A', apiKey: 'pa_live_mine' },
  ])('%j is refused, and nothing is made', async (body) => {
    const { key } = await service.client.register();
    expect(outcome(await service.client.post('/account/keys', body, key))).toEqual([400, 'invalid_request']);
    expect(await listed(key)).toHaveLength(1);
  });

  test('its owner is mailed of a key that may withdraw, and of no other', async () => {
    const { key } = await service.client.register();
    const mails = async () => {
      const { body } = await service.client.get('/sandbox/messages', key);
      return body.messages.filter(({ subject }: { subject: string }) => subject.includes('key'));
    };
    await make(key, { name: 'Reader', scopes: ['read', 'pay', 'manage'] });
    expect(await mails()).toEqual([]);
    const { apiKey } = (await make(key, { name: 'Treasurer' })).body;
    const [mail, ...more] = await mails();
    expect(more).toEqual([]);
    expect(mail.text).toContain('"Treasurer"');
    expect(mail.text).toContain(apiKey.slice(-4));
    expect(mail.text).not.toContain(apiKey);
  });
});

describe('ending keys', () => {
  test('another one, oneself, and never somebody else’s', async () => {
    const { key } = await service.client.register();
    const other = (await make(key)).body;
    const stranger = await service.client.register();
    expect(outcome(await end(stranger.key, other.id))).toEqual([404, 'key_not_found']);
    expect(outcome(await end(key, 'key_x'))).toEqual([404, 'key_not_found']);
    expect(await works(other.apiKey)).toBe(true);
    expect((await end(key, other.id)).body).toEqual({ id: other.id, revoked: true, webhooks: [] });
    expect([await works(other.apiKey), await works(key)]).toEqual([false, true]);
    expect(await listed(key)).toHaveLength(1);
    expect((await end(key, await idOf(key))).status).toBe(200);
    expect(await works(key)).toBe(false);
  });

  test('names the webhooks that were made with it, and ends them when asked to, also afterwards', async () => {
    const { key } = await service.client.register();
    const [thief, mine] = [(await make(key)).body, await addWebhook(key, 'mine')];
    const theirs = await addWebhook(thief.apiKey, 'theirs');
    expect((await end(key, thief.id)).body.webhooks).toEqual([theirs]);
    const active = async () =>
      (await service.client.get('/webhooks', key)).body.webhooks.map(({ id }: { id: string }) => id);
    expect(await active()).toEqual([theirs.id, mine.id]);
    expect((await end(key, `${thief.id}?endWebhooks=false`)).body.webhooks).toEqual([theirs]);
    expect((await end(key, `${thief.id}?endWebhooks=true`)).body.webhooks).toEqual([theirs]);
    expect(await active()).toEqual([mine.id]);
    expect((await end(key, `${thief.id}?endWebhooks=true`)).body.webhooks).toEqual([]);
    expect(outcome(await end(key, `${thief.id}?endWebhooks=1`))).toEqual([400, 'invalid_request']);
    const own = await service.client.post('/account/revoke-key', { endWebhooks: true }, key);
    expect(own.body).toEqual({ revoked: true, webhooks: [mine] });
    const { rows } = await db().query('SELECT FROM webhooks WHERE id = ANY ($1) AND status <> $2', [
      [mine.id, theirs.id],
      'deleted',
    ]);
    expect(rows).toEqual([]);
  });

  test('all at once, the calling one too, with every webhook named, and ended if wished', async () => {
    const { key, email, password } = await service.client.register();
    const other = (await make(key)).body;
    const [first, second] = [await addWebhook(key, 'first'), await addWebhook(other.apiKey, 'second')];
    await end(key, other.id);
    const answer = await service.client.post('/account/keys/revoke-all', undefined, key);
    expect(answer.body).toEqual({ revoked: true, webhooks: [second, first] });
    expect([await works(key), await works(other.apiKey)]).toEqual([false, false]);
    const fresh = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    expect((await service.client.get('/webhooks', fresh)).body.webhooks).toHaveLength(2);
    const { body } = await service.client.post('/account/keys/revoke-all', { endWebhooks: true }, fresh);
    expect(body.webhooks).toEqual([second, first]);
    const again = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    expect((await service.client.get('/webhooks', again)).body.webhooks).toEqual([]);
    expect(outcome(await service.client.post('/account/keys/revoke-all', { all: true }, again))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('requests of a key that were under way when it ended make neither keys nor webhooks', async () => {
    const { key, handle } = await service.client.register();
    const keyId = await idOf(key);
    const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
    const accountId = rows[0]?.id ?? 0n;
    let underWay: Promise<Reply>[] = [];
    // Nobody is told, as an instance is not that answers at this very moment: it still believes in the key.
    await db().transaction(async (tx) => {
      await lockOwner(tx, accountId);
      underWay = [
        make(key),
        service.client.post('/webhooks', { url: 'https://a.example/', events: ['payment.sent'] }, key),
      ];
      await expect.poll(async () => (await waitingForLocks()) >= 2).toBe(true);
      await tx.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [keyId]);
    });
    expect((await Promise.all(underWay)).map(outcome)).toEqual([
      [401, 'unauthorized'],
      [401, 'unauthorized'],
    ]);
    const left = await db().query('SELECT FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL', [accountId]);
    const made = await db().query('SELECT FROM webhooks WHERE account_id = $1', [accountId]);
    expect([left.rowCount, made.rowCount]).toEqual([0, 0]);
  });

  test('nor do they change the password, or where money and orders go', async () => {
    const { key, handle, email, password } = await service.client.register();
    const keyId = await idOf(key);
    const ordersUrl = 'https://thief.example.com/orders';
    await service.client.post('/shopping/merchants', { website: 'mine.example' }, key);
    const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
    const accountId = rows[0]?.id ?? 0n;
    const withdrawalAddress = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
    let underWay: Promise<Reply>[] = [];
    await db().transaction(async (tx) => {
      await lockOwner(tx, accountId);
      underWay = [
        service.client.patch('/account', { withdrawalAddress }, key),
        service.client.post('/account/password', { currentPassword: password, newPassword: 'a thief’s horse' }, key),
        service.client.post('/account/withdrawal-addresses', { address: withdrawalAddress }, key),
        service.client.post('/shopping/merchants', { website: 'shop.example', ordersUrl }, key),
        service.client.patch('/shopping/merchants/mine.example', { ordersUrl }, key),
      ];
      await expect.poll(async () => (await waitingForLocks()) >= underWay.length).toBe(true);
      await tx.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [keyId]);
    });
    const outcomes = (await Promise.all(underWay)).map(outcome);
    expect(outcomes).toEqual(underWay.map(() => [401, 'unauthorized']));
    const { body } = await service.client.post('/agent/register', { email, password });
    expect((await service.client.get('/account', body.apiKey)).body.withdrawalAddress).toBeNull();
    expect((await service.client.get('/account/withdrawal-addresses', body.apiKey)).body.addresses).toEqual([]);
  });

  test('very many end a few thousand at a time, however they are ended', async () => {
    // Stands for the time that a statement may take.
    await db().query(`
      CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF (SELECT count(*) FROM now_ended) > 5500 THEN RAISE EXCEPTION 'too many at once'; END IF;
        RETURN NULL;
      END $$`);
    await db().query(`
      CREATE TRIGGER refuse_many AFTER UPDATE ON api_keys REFERENCING NEW TABLE AS now_ended
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`);
    const owner = await service.client.register();
    const { email, password, handle } = owner;
    const makeMany = async (mark: string) => {
      await db().query(
        `INSERT INTO api_keys (id, account_id, key_hash, name, last4)
         SELECT 'key_' || $2 || n, a.id, sha256(($2 || n)::bytea), 'one of many', 'last' FROM accounts a, generate_series(1, 6000) n WHERE a.handle = $1`,
        [handle, mark],
      );
    };
    await makeMany('a');
    expect((await service.client.post('/account/keys/revoke-all', undefined, owner.key)).body.revoked).toBe(true);
    const { apiKey } = (await service.client.post('/agent/register', { email, password })).body;
    await makeMany('b');
    const change = { currentPassword: password, newPassword: 'a newer horse', revokeKeys: true };
    const changed = await service.client.post('/account/password', change, apiKey);
    expect(changed.body).toMatchObject({ revokedKeys: 6_001, keysLeft: 0 });
    await makeMany('c');
    expect(await paywright('account', 'revoke-keys', handle)).toEqual([`Revoked all 6000 keys of ${handle}.`]);
    await db().query('DROP TRIGGER refuse_many ON api_keys');
  });

  test('whatever is made meanwhile, no key is left when all have ended', async () => {
    const { key, handle } = await service.client.register();
    const makers = [key, await makeKey(key), await makeKey(key)];
    const noise = Array.from({ length: 12 }, (_, n) => make(makers[n % 3] ?? key));
    const ends = [0, 1].map(() => service.client.post('/account/keys/revoke-all', undefined, key));
    const statuses = (await Promise.all([...noise, ...ends])).map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 201, 401].includes(status))).toEqual([]);
    expect(statuses.slice(12)).toContain(200);
    const { rowCount } = await db().query(
      'SELECT FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE a.handle = $1 AND k.revoked_at IS NULL',
      [handle],
    );
    expect(rowCount).toBe(0);
  });

  async function waitingForLocks(): Promise<number> {
    const { rows } = await db().query<{ count: bigint }>(
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    return Number(rows[0]?.count ?? 0);
  }
});

describe('keys that end by themselves', () => {
  const age = (id: string, days: number) =>
    db().query(`UPDATE api_keys SET created_at = created_at - $2 * interval '1 day' WHERE id = $1`, [id, days]);

  test('one that nobody has used for long is refused and not listed; one that is used is neither', async () => {
    const { key } = await service.client.register();
    const [idle, used] = [(await make(key)).body, (await make(key)).body];
    await age(idle.id, 91);
    await age(used.id, 91);
    await db().query("UPDATE api_keys SET last_used_at = now() - interval '1 day' WHERE id = $1", [used.id]);
    const keys: { id: string; expiresAt: string }[] = await listed(key);
    expect(keys.map(({ id }) => id)).toEqual([used.id, await idOf(key)]);
    expect((Date.parse(keys[0]?.expiresAt ?? '') - Date.now()) / dayMs).toBeCloseTo(89, 1);
    expect([await works(idle.apiKey), await works(used.apiKey)]).toEqual([false, true]);
  });

  test('one whose day has come is refused and not listed', async () => {
    const { key } = await service.client.register();
    const wish = { expiresAt: new Date(Date.now() + dayMs).toISOString() };
    const { id, apiKey } = (await make(key, wish)).body;
    await db().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
    expect(await works(apiKey)).toBe(false);
    expect(await listed(key)).toHaveLength(1);
  });
});

describe('where a key was last used', () => {
  const where = async (id: string) => {
    const { rows } = await db().query(
      'SELECT last_used_at AS at, last_used_from AS address FROM api_keys WHERE id = $1',
      [id],
    );
    return rows[0];
  };

  test('is written down now and then, the latest of all instances, and waits for nobody', async () => {
    const { key } = await service.client.register();
    const [one, two] = [(await make(key)).body.id, (await make(key)).body.id];
    const uses = createKeyUses({ db: db(), logger: createLogger('silent') });
    const [at, before] = [Date.parse('2026-03-01T12:00:00.123Z'), Date.parse('2026-03-01T11:00:00Z')];
    await uses.note(one, { at, address: '203.0.113.7' });
    await uses.note(two, { at, address: '2001:db8::1' });
    await db().transaction(async (tx) => {
      await tx.query('SELECT FROM api_keys WHERE id = $1 FOR UPDATE', [two]);
      await uses.writeDown();
    });
    expect(await where(one)).toEqual({ at: new Date(at), address: '203.0.113.7' });
    expect(await where(two)).toEqual({ at: null, address: null });
    await uses.note(one, { at: before, address: '198.51.100.1' });
    await uses.stop();
    expect(await where(one)).toEqual({ at: new Date(at), address: '203.0.113.7' });
    expect(await where(two)).toEqual({ at: new Date(at), address: '2001:db8::1' });
    const keys: { id: string; lastUsedAt: string; lastUsedFrom: string }[] = await listed(key);
    expect(keys.find(({ id }) => id === one)).toMatchObject({
      lastUsedAt: new Date(at).toISOString(),
      lastUsedFrom: '203.0.113.7',
    });
  });
});

test('a process that stops has written down which keys it saw, and from where', async () => {
  const other = await startService(service.database, { roles: { serve: true, work: false } });
  const { key } = await service.client.register();
  const { id, apiKey } = (await make(key)).body;
  const before = Date.now();
  expect((await other.client.get('/account', apiKey)).status).toBe(200);
  await other.stop();
  const keys: { id: string; lastUsedAt: string; lastUsedFrom: string }[] = await listed(key);
  const seen = keys.find((one) => one.id === id);
  expect(seen?.lastUsedFrom).toBe('127.0.0.1');
  expect(Date.parse(seen?.lastUsedAt ?? '')).toBeGreaterThanOrEqual(before);
});

describe('what is written down of keys', () => {
  test('signing in, making and ending them, by which key and from where', async () => {
    const { key, email, password } = await service.client.register();
    const first = await idOf(key);
    const made = (await make(key, { name: 'Agent', scopes: ['read'] })).body;
    await end(key, made.id);
    await end(key, made.id);
    const second = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    const secondId = await idOf(second);
    await service.client.post('/account/keys/revoke-all', undefined, key);
    const last = (await service.client.post('/agent/register', { email, password })).body.apiKey;
    const lastId = await idOf(last);
    const { body } = await service.client.get('/account/audit', last);
    const address = '127.0.0.1';
    expect(body.entries).toMatchObject([
      { action: 'sign_in.succeeded', keyId: lastId, address },
      { action: 'keys.revoked', keyId: first, address, details: { keys: 2, webhooks: [] } },
      { action: 'sign_in.succeeded', keyId: secondId, address },
      { action: 'key.revoked', keyId: first, address, details: { key: made.id, webhooks: [] } },
      {
        action: 'key.created',
        keyId: first,
        address,
        details: { key: made.id, name: 'Agent', scopes: ['read'], expiresAt: null },
      },
      { action: 'account.registered', keyId: first, address },
    ]);
    for (const one of [key, second, last, made.apiKey]) expect(JSON.stringify(body)).not.toContain(one);
  });
});

describe('the operator', () => {
  test('sees the keys of an account, and ends all of them with its webhooks', async () => {
    const { key, handle, email } = await service.client.register();
    const made = (await make(key, { name: 'Agent', scopes: ['read'] })).body;
    const hook = await addWebhook(key);
    const lines = await paywright('account', 'keys', handle);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(new RegExp(`^${made.id}  …${made.last4}  read  made .* not seen in use  ends .*  Agent$`));
    expect(lines.join()).not.toContain(made.apiKey);

    const said = await paywright('account', 'revoke-keys', email, '--end-webhooks');
    expect(said).toEqual([`Revoked all 2 keys of ${email}.`, `Its webhook ${hook.id} to ${hook.url} has ended.`]);
    await expect.poll(() => works(key)).toBe(false);
    expect(await works(made.apiKey)).toBe(false);
    expect(await paywright('account', 'keys', handle)).toEqual([`${handle} has no working key.`]);
    const { rows } = await db().query(
      "SELECT l.operator, l.details FROM audit_log l JOIN accounts a ON a.id = l.account_id WHERE a.handle = $1 AND action = 'keys.revoked'",
      [handle],
    );
    expect(rows).toEqual([{ operator: 'olga', details: { keys: 2, webhooks: [hook.id] } }]);
    await expect(paywright('account', 'revoke-keys', 'PA-AAAAAAAA')).rejects.toThrow('No account has');
  });
});
