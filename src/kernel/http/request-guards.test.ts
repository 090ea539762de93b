import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { monotonicClock } from '../clock.ts';
import { createMemoryLimiter } from '../rate-limit/memory-limiter.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { type Caller, defineRoute, ok, scopes } from './define-route.ts';
import { httpErrors } from './errors.ts';
import { addHealth, createReadiness } from './health.ts';
import { countsFailures } from './request-guards.ts';
import { createServer } from './server.ts';
import { parseRanges, toBlockList } from './trusted-proxies.ts';

const ada: Caller = { accountId: 1n, keyId: 'key_1', handle: 'PA-AAAAAAAA', tier: 'free', scopes, bucket: 'account:1' };
const limits = { free: 60, pro: 300, anonymous: 3, network: 7, pages: 5, address: 0 };

/** Who says that they pay is counted by the route, as soon as it knows who pays. */
const sold = defineRoute(
  {
    id: 'sold',
    method: 'GET',
    path: '/sold',
    tag: 'Sold',
    summary: 'Sold',
    auth: 'none',
    query: z.strictObject({}),
    countsThemselves: ['x-payment'],
    returns: { 200: { description: 'Sold', schema: z.object({}), example: {} } },
  },
  async ({ count }) => {
    await count.payer('0xA', 2);
    return ok({});
  },
);

function open(proxies = '127.0.0.1', known: readonly string[] = [], changed: Partial<typeof limits> = {}) {
  let lookups = 0;
  let verified = 0;
  const lines: string[] = [];
  const app = createServer({
    config: { rateLimits: { ...limits, ...changed }, trustedProxies: toBlockList(parseRanges(proxies) ?? []) },
    publicUrl: () => 'http://pay.example',
    routes: [sold],
    limiter: createMemoryLimiter(monotonicClock),
    secrets: createSecrets('s'.repeat(32)),
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    pages: (pages) => {
      pages.get('/', async () => 'a page');
      pages.get('/api/notices', countsFailures, async ({ url }) => {
        verified++;
        if (url.endsWith('?is=good')) return 'heard';
        throw httpErrors.unauthorized();
      });
      addHealth(pages, async () => []);
    },
    authenticate(token, visit) {
      if (known.includes(token))
        return { ...ada, bucket: `account:${token}`, tier: token === 'grand' ? 'enterprise' : 'free' };
      const lookUp = async () => {
        await visit.mayAsk();
        lookups++;
        return token === 'real' ? ada : undefined;
      };
      return lookUp();
    },
  });
  const ask = async (url: string, { ip = '192.0.2.1', key = '', payment = '' } = {}) => {
    const headers = {
      'x-forwarded-for': ip,
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(payment !== '' && { 'x-payment': payment }),
    };
    return (await app.inject({ url, headers })).statusCode;
  };
  return { app, ask, lookups: () => lookups, verified: () => verified, lines };
}

test('what others tell us counts only when it is wrong, and is then not verified any more', async () => {
  const { ask, verified } = open();
  for (let time = 0; time < 10; time++) expect(await ask('/api/notices?is=good')).toBe(200);
  for (let time = 0; time < 3; time++) expect(await ask('/api/notices')).toBe(401);
  expect(verified()).toBe(13);
  for (let time = 0; time < 5; time++) expect(await ask('/api/notices')).toBe(429);
  expect(verified()).toBe(13);
  expect(await ask('/api/notices?is=good', { ip: '192.0.2.2' })).toBe(200);
});

test('anonymous calls of an address leave room for notices, and bad notices for calls', async () => {
  const { ask } = open();
  for (let time = 0; time < 5; time++) await ask('/api/nothing');
  expect(await ask('/api/nothing')).toBe(429);
  expect(await ask('/api/notices?is=good')).toBe(200);
  for (let time = 0; time < 5; time++) await ask('/api/notices', { ip: '192.0.2.2' });
  expect(await ask('/api/notices?is=good', { ip: '192.0.2.2' })).toBe(429);
  expect(await ask('/api/nothing', { ip: '192.0.2.2' })).toBe(404);
});

test('a load balancer may ask all the time, and what only looks like its question counts', async () => {
  const { ask } = open();
  for (let time = 0; time < 20; time++) expect(await ask('/health?now')).toBe(200);
  const answers: number[] = [];
  for (let time = 0; time < 6; time++) answers.push(await ask(`/health/${time}`));
  expect(answers).toEqual([404, 404, 404, 404, 404, 429]);
});

test('an invented key is looked up only as long as its address has room', async () => {
  const { ask, lookups } = open();
  for (let time = 0; time < 20; time++) await ask('/api/nothing', { key: `invented${time}` });
  // Three had room; the fourth had none, and from then on nobody asks.
  expect(lookups()).toBe(4);
  expect(await ask('/api/nothing', { key: 'another' })).toBe(429);
  expect(await ask('/api/nothing', { ip: '192.0.2.2', key: 'another' })).toBe(404);
  expect(lookups()).toBe(5);
});

test('an invented key is looked up only as long as the network around its address has room', async () => {
  const { ask, lookups } = open();
  for (let net = 0; net < 30; net++) await ask('/api/nothing', { ip: `2001:db8:1:${net + 1}::1`, key: 'invented' });
  expect(lookups()).toBe(8);
  expect(await ask('/api/nothing', { ip: '2001:db8:2:1::1', key: 'invented' })).toBe(404);
});

test('however many invented keys come at once, few are looked up, and real ones among them wait their turn', async () => {
  const { ask, lookups } = open();
  const all = await Promise.all(
    Array.from({ length: 200 }, (_, time) => ask('/api/nothing', { key: `invented${time}` })),
  );
  expect(all.filter((status) => status === 404)).toHaveLength(3);
  expect(lookups()).toBeLessThanOrEqual(6);
  const other = { ip: '192.0.2.7', key: 'real' };
  const real = await Promise.all(Array.from({ length: 20 }, () => ask('/api/nothing', other)));
  expect(real).toEqual(Array(20).fill(404));
});

test('who shows an invented key is counted at the door, also when they say that they pay', async () => {
  const { ask, lookups } = open();
  for (let time = 0; time < 20; time++) await ask('/api/sold', { key: `invented${time}`, payment: 'some' });
  expect(lookups()).toBe(4);
  expect(await ask('/api/sold', { payment: 'some' })).toBe(200);
});

test('who says that they pay, and asks for what has no right form, is counted by their address', async () => {
  const { ask } = open();
  const statuses = [];
  for (let time = 0; time < 5; time++) statuses.push(await ask('/api/sold?more=1', { payment: 'some' }));
  expect(statuses).toEqual([400, 400, 400, 429, 429]);
});

test('who has no key and no room keeps nobody from using a real one', async () => {
  const { ask } = open('127.0.0.1', ['known']);
  for (let time = 0; time < 9; time++) await ask('/api/nothing');
  expect(await ask('/api/nothing')).toBe(429);
  expect(await ask('/api/nothing', { key: 'real' })).toBe(404);
  expect(await ask('/api/nothing', { key: 'invented' })).toBe(429);
  expect(await ask('/api/nothing', { key: 'known' })).toBe(404);
});

test('IPv6 is counted by its /64 and by its /48', async () => {
  const { ask } = open();
  const passed = async (addresses: readonly string[]) => {
    const statuses = [];
    for (const ip of addresses) statuses.push(await ask('/api/nothing', { ip }));
    return statuses.filter((status) => status === 404).length;
  };
  expect(await passed(Array.from({ length: 5 }, (_, host) => `2001:db8:1:1::${host}`))).toBe(3);
  // What was refused by the one is not counted by the other.
  expect(await passed(Array.from({ length: 9 }, (_, net) => `2001:db8:1:${net + 2}::1`))).toBe(4);
  expect(await passed(['2001:db8:2:1::1'])).toBe(1);
});

test('all keys of an address count together, up to a ceiling of their own, and those of enterprise accounts do not', async () => {
  const { ask } = open('127.0.0.1', ['one', 'two', 'grand'], { address: 8 });
  const statuses: number[] = [];
  for (let time = 0; time < 5; time++) {
    for (const key of ['one', 'two']) statuses.push(await ask('/api/nothing', { key }));
  }
  expect(statuses.filter((status) => status === 404)).toHaveLength(8);
  expect(statuses.slice(8)).toEqual([429, 429]);
  expect(await ask('/api/nothing', { key: 'grand' })).toBe(404);
  expect(await ask('/api/nothing', { key: 'one', ip: '192.0.2.2' })).toBe(404);
});

test('the keys of a /48 count together as well, up to four times the ceiling', async () => {
  const { ask } = open('127.0.0.1', ['one'], { address: 3 });
  const statuses: number[] = [];
  for (let net = 0; net < 14; net++)
    statuses.push(await ask('/api/nothing', { key: 'one', ip: `2001:db8:1:${net}::1` }));
  expect(statuses).toEqual([...Array(12).fill(404), 429, 429]);
  expect(await ask('/api/nothing', { key: 'one', ip: '2001:db8:2::1' })).toBe(404);
});

test('pages have a limit of their own, and whether the process lives has none', async () => {
  const { ask } = open();
  const statuses = [];
  for (let time = 0; time < 7; time++) statuses.push(await ask('/'));
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  expect(await ask('/ready')).toBe(429);
  expect(await ask('/api/nothing')).toBe(404);
  expect(await ask('/', { ip: '192.0.2.9' })).toBe(200);
  for (let time = 0; time < 7; time++) expect(await ask('/health')).toBe(200);
});

test('pages are counted by the /48 too', async () => {
  const { ask } = open();
  const statuses = [];
  for (let net = 0; net < 25; net++) statuses.push(await ask('/', { ip: `2001:db8:1:${net}::1` }));
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(await ask('/', { ip: '2001:db8:2::1' })).toBe(200);
});

test('a proxy that nobody has named is noticed, once', async () => {
  const { ask, lines } = open('10.0.0.1');
  const said = () => lines.filter((line) => line.includes('TRUSTED_PROXIES'));
  await ask('/');
  await ask('/');
  expect(said()).toHaveLength(1);
  const named = open('127.0.0.1');
  await named.ask('/');
  expect(named.lines.filter((line) => line.includes('TRUSTED_PROXIES'))).toEqual([]);
});

test('however many ask whether it is ready, it looks once a second', async () => {
  let looks = 0;
  let now = 0;
  const readiness = createReadiness(
    {
      database: async () => {
        looks++;
        return [];
      },
      chains: async () => ['BASE'],
      jobs: async () => {
        throw new Error('the worker has ended');
      },
    },
    { now: () => now },
  );
  await Promise.all([readiness(), readiness(), readiness()]);
  expect(looks).toBe(1);
  now = 1_000;
  expect(await readiness()).toEqual([
    { name: 'database', passed: true, away: [] },
    { name: 'chains', passed: true, away: ['BASE'] },
    { name: 'jobs', passed: false, away: [] },
  ]);
  expect(looks).toBe(2);
});
