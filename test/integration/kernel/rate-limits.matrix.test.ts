import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import type { Reply } from '../../support/client.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { type Service, startService, useStartedDatabase } from '../../support/service.ts';

const limits = {
  RATE_LIMIT_FREE_PER_MINUTE: '',
  RATE_LIMIT_PRO_PER_MINUTE: '',
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: '',
  TRUSTED_PROXIES: '127.0.0.1',
};

const passed = (replies: readonly Reply[]) => replies.filter((reply) => reply.status !== 429).length;
const atOnce = (count: number, request: () => Promise<Reply>) => Promise.all(Array.from({ length: count }, request));

let address = 0;
const freshAddress = () => `203.0.113.${++address}`;

/** Each address has its own count, so a test that needs an account takes an address of its own. */
async function registerFrom(service: Service, ip = freshAddress()): Promise<string> {
  const reply = await service.client.request('POST', '/agent/register', {
    headers: { 'x-forwarded-for': ip },
    body: { email: `${ip}-${Date.now()}@example.com`, password: 'correct horse', name: 'Ada' },
  });
  expect(reply.status).toBe(201);
  return reply.body.apiKey;
}

/** Shared by instances it is the same again, so that npm test asks a few of it there. */
function behaves(start: () => Service[], { isShared }: { readonly isShared: boolean }) {
  const again = isShared ? { tags: ['matrix' as const] } : {};

  test('free accounts: of 100 requests at once exactly 60 pass, on all instances together', async () => {
    const services = start();
    const key = await registerFrom(services[0] as Service);
    let turn = 0;
    const since = performance.now();
    const replies = await atOnce(100, () =>
      (services[turn++ % services.length] as Service).client.get('/account', key),
    );
    expect(passed(replies)).toBe(60);
    const tookSeconds = (performance.now() - since) / 1_000;
    const refused = replies.find((reply) => reply.status === 429);
    expect(refused?.body.code).toBe('rate_limited');
    const wait = Number(refused?.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(Math.floor(60 - tookSeconds));
    expect(wait).toBeLessThanOrEqual(60);
    expect(refused?.headers.get('ratelimit-policy')).toBe('"default";q=60;w=60');
    expect(refused?.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
  });

  test('pro accounts: 300, from the moment of the change', again, async () => {
    const [service] = start() as [Service];
    const key = await registerFrom(service);
    await service.client.post('/account/tier', { tier: 'pro' }, key);
    // The change itself was counted.
    expect(passed(await atOnce(310, () => service.client.get('/account', key)))).toBe(299);
  });

  test('a key that uses up all requests of an account does not keep its owner from ending it', again, async () => {
    const [service] = start() as [Service];
    const key = await registerFrom(service);
    const { body: stolen } = await service.client.post('/account/keys', { name: 'Stolen', scopes: ['read'] }, key);
    await atOnce(80, () => service.client.get('/account', stolen.apiKey));
    expect((await service.client.get('/account', key)).status).toBe(429);
    const change = { currentPassword: 'correct horse', newPassword: 'a newer horse' };
    expect((await service.client.post('/account/password', change, key)).status).toBe(200);
    expect((await service.client.post('/account/keys/revoke-all', undefined, key)).status).toBe(200);
    expect((await service.client.get('/account', stolen.apiKey)).status).toBe(401);
  });

  test('enterprise accounts: no limit', async () => {
    const [service] = start() as [Service];
    const key = await registerFrom(service);
    const { body } = await service.client.get('/account', key);
    await database.db.query("UPDATE accounts SET tier = 'enterprise' WHERE handle = $1", [body.handle]);
    await database.db.query("SELECT pg_notify('account_changed', 'test ' || id) FROM accounts WHERE handle = $1", [
      body.handle,
    ]);
    await expect.poll(async () => (await service.client.get('/account', key)).headers.get('ratelimit')).toBeNull();
    expect(passed(await atOnce(310, () => service.client.get('/account', key)))).toBe(310);
  });

  test(
    'without a key: 30 by address, invalid keys and unknown addresses included, and headers count down',
    again,
    async () => {
      const [service] = start() as [Service];
      const headers = { 'x-forwarded-for': freshAddress() };
      const first = await service.client.request('GET', '/openapi.json', { headers });
      expect(first.headers.get('ratelimit')).toMatch(/^"default";r=29;t=(59|60)$/);
      const second = await service.client.request('GET', '/nothing', { headers });
      expect(second.status).toBe(404);
      expect(second.headers.get('ratelimit')).toMatch(/r=28/);
      const third = await service.client.request('GET', '/account', { headers, key: 'pa_live_nonsense' });
      expect(third.status).toBe(401);
      expect(passed(await atOnce(40, () => service.client.request('GET', '/account', { headers })))).toBe(27);
      const elsewhere = await service.client.request('GET', '/account', {
        headers: { 'x-forwarded-for': freshAddress() },
      });
      expect(elsewhere.status).toBe(401);
    },
  );

  test('a key counts against its account and not against the address', again, async () => {
    const [service] = start() as [Service];
    const ip = freshAddress();
    const headers = { 'x-forwarded-for': ip };
    const key = await registerFrom(service, ip);
    await atOnce(40, () => service.client.request('GET', '/account', { headers }));
    expect((await service.client.request('GET', '/account', { headers })).status).toBe(429);
    expect((await service.client.request('GET', '/account', { headers, key })).status).toBe(200);
  });

  test('a preflight and the pages outside the API are not counted', again, async () => {
    const [service] = start() as [Service];
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let i = 0; i < 40; i++) {
      expect((await service.client.request('OPTIONS', '/account', { headers })).status).toBe(204);
      expect((await fetch(`${service.url}/health`, { headers })).status).toBe(200);
    }
    expect((await service.client.request('GET', '/account', { headers })).status).toBe(401);
  });
}

const database = useStartedDatabase();

describe('in process', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService(database, { env: limits });
  });
  afterAll(() => service.stop());
  behaves(() => [service], { isShared: false });
});

describe('X-Forwarded-For', () => {
  test('is believed from trusted proxies only', async () => {
    const service = await startService(database, { env: { ...limits, TRUSTED_PROXIES: '10.0.0.0/8' } });
    let n = 0;
    const replies = await atOnce(40, () =>
      service.client.request('GET', '/account', { headers: { 'x-forwarded-for': `198.51.100.${n++}` } }),
    );
    await service.stop();
    expect(passed(replies)).toBe(30);
  });
});

describe('signing in and registering', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService(database, { env: limits });
  });
  afterAll(() => service.stop());
  const signIn = (email: string, password: string, ip: string) =>
    service.client.request('POST', '/agent/register', {
      headers: { 'x-forwarded-for': ip },
      body: { email, password, name: 'Ada' },
    });

  test('wrong passwords from elsewhere do not lock the owner out', { tags: ['matrix'] }, async () => {
    const [email, home] = ['owner@example.com', freshAddress()];
    expect((await signIn(email, 'correct horse', home)).status).toBe(201);
    for (let i = 0; i < 3; i++) {
      const attacker = freshAddress();
      const codes = (await atOnce(12, () => signIn(email, 'wrong horse', attacker))).map(({ body }) => body.code);
      expect(new Set(codes)).toEqual(new Set(['wrong_password', 'too_many_attempts']));
    }
    expect((await signIn(email, 'correct horse', freshAddress())).status).toBe(200);
    expect((await signIn(email, 'correct horse', home)).status).toBe(200);
  });

  test('a key does not lift the limit on registrations from one address', async () => {
    const ip = freshAddress();
    const key = await registerFrom(service, ip);
    await service.client.post('/account/tier', { tier: 'pro' }, key);
    let n = 0;
    // At once, because one after the other they might take longer than the minute that is counted.
    const replies = await atOnce(35, () => {
      const body = { email: `many-${++n}@example.com`, password: 'correct horse', name: 'Ada' };
      return service.client.request('POST', '/agent/register', { key, headers: { 'x-forwarded-for': ip }, body });
    });
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(29);
    expect(passed(replies)).toBe(29);
  });
});

describe('in Redis', { tags: ['redis'] }, () => {
  let redis: TestRedis;
  let services: Service[] = [];
  const lines: string[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    const env = { ...limits, REDIS_URL: redis.url };
    const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
    services = [await startService(database, { env, logger }), await startService(database, { env })];
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await redis.stop();
  });
  behaves(() => services, { isShared: true });

  test('while Redis is away each instance limits by itself, says so once, and shares again afterwards', async () => {
    const [service] = services as [Service, Service];
    const key = await registerFrom(service);
    await redis.stop();
    await expect.poll(() => lines.filter((line) => line.includes('Redis is unreachable')).length).toBe(1);
    expect(passed(await atOnce(100, () => service.client.get('/account', key)))).toBe(60);
    await redis.restart();
    await expect
      .poll(
        async () => {
          await service.client.request('GET', '/account', { headers: { 'x-forwarded-for': freshAddress() } });
          return lines.some((line) => line.includes('Redis is back'));
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(passed(await atOnce(100, () => service.client.get('/account', key)))).toBe(60);
    expect(lines.filter((line) => line.includes('Redis is unreachable'))).toHaveLength(1);
  });
});
