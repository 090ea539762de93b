import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Passwords } from '../../../src/accounts/passwords/passwords.ts';
import { register as registerAt } from '../../../src/accounts/register.ts';
import type { Verification } from '../../../src/accounts/verification.ts';
import { ProviderError } from '../../../src/custody/wallets/provider.ts';
import { monotonicClock, systemClock } from '../../../src/kernel/clock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createMemoryLimiter } from '../../../src/kernel/rate-limit/memory-limiter.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { useService } from '../../support/service.ts';

const service = useService({
  env: { TRUSTED_PROXIES: '127.0.0.1' },
  settings: { accounts: { registrationsPerNetwork: 3 } },
});

const register = (email: string, ip: string) =>
  service.client.request('POST', '/agent/register', {
    headers: { 'x-forwarded-for': ip },
    body: { email, password: 'correct horse', name: 'Ada' },
  });

test('a network makes so many accounts on a day, however they come, and goes on signing in to them', async () => {
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) => register(`many-${index}@example.com`, '203.0.113.9')),
  );
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
  const refused = replies.find(({ status }) => status !== 201);
  expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_registrations' } });
  const seconds = Number(refused?.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
  const { rows } = await service.database.db.query("SELECT FROM accounts WHERE email LIKE 'many-%'");
  expect(rows).toHaveLength(3);

  const known = replies.findIndex(({ status }) => status === 201);
  expect((await register(`many-${known}@example.com`, '203.0.113.9')).status).toBe(200);
  expect((await register('elsewhere@example.com', '203.0.113.10')).status).toBe(201);
});

test('a /48 of IPv6 makes as many accounts as four addresses', async () => {
  const statuses: number[] = [];
  for (let net = 0; net < 14; net++) {
    statuses.push((await register(`wide-${net}@example.com`, `2001:db8:7:${net}::1`)).status);
  }
  expect(statuses).toEqual([...Array(12).fill(201), 429, 429]);
});

test('several requests for one email make one account, and count once', async () => {
  const replies = await Promise.all(Array.from({ length: 5 }, () => register('same@example.com', '203.0.113.20')));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 201]);
  expect((await register('second@example.com', '203.0.113.20')).status).toBe(201);
  expect((await register('third@example.com', '203.0.113.20')).status).toBe(201);
  expect((await register('fourth@example.com', '203.0.113.20')).status).toBe(429);
});

describe('by itself', () => {
  const wallets = { made: 0, givenBack: 0, away: false };

  /** One instance of several. */
  const instance = () => ({
    db: service.database.db,
    secrets: createSecrets('s'.repeat(32)),
    passwords: { hash: async () => 'a hash' } as unknown as Passwords,
    throttle: { admitRegistration: async () => {}, matches: async () => true },
    verification: { beginIfPossible: async () => ({ isVerified: true }) } as unknown as Verification,
    noteFailure: async () => {},
    idleMs: Number.POSITIVE_INFINITY,
    logger: createLogger('silent'),
    registrationsPerNetwork: 3,
    limiter: createMemoryLimiter(monotonicClock),
    clock: systemClock,
    wallets: {
      name: 'keys' as const,
      async createWallet() {
        if (wallets.away) throw new ProviderError('It is away.', { retryable: true, code: 'provider_busy' });
        wallets.made++;
        return { address: `0x${randomBytes(20).toString('hex')}` as const, ref: randomUUID() };
      },
      async giveBack() {
        wallets.givenBack++;
      },
    },
  });
  const go = (own: ReturnType<typeof instance>, email: string, ip: string, tier?: 'pro' | 'enterprise') =>
    registerAt(own, { email, password: 'correct horse', name: 'Ada', ip, caller: tier && { tier } }).then(
      () => 'made',
      (error: { code?: string }) => error.code,
    );

  test('a registration that fails on our side counts nothing', async () => {
    const own = instance();
    wallets.away = true;
    for (let time = 0; time < 5; time++) expect(await go(own, 'out@example.com', '203.0.113.30')).not.toBe('made');
    wallets.away = false;
    for (let time = 0; time < 3; time++) expect(await go(own, `back-${time}@example.com`, '203.0.113.30')).toBe('made');
    const { made } = wallets;
    expect(await go(own, 'late@example.com', '203.0.113.30')).toBe('too_many_registrations');
    expect(wallets.made, 'nothing is made for who is refused').toBe(made);
  });

  test('what an enterprise key registers has no cap, and counts for nobody else', async () => {
    const own = instance();
    for (let time = 0; time < 5; time++) {
      expect(await go(own, `grand-${time}@example.com`, '203.0.113.50', 'enterprise')).toBe('made');
    }
    for (let time = 0; time < 3; time++)
      expect(await go(own, `pro-${time}@example.com`, '203.0.113.50', 'pro')).toBe('made');
    expect(await go(own, 'pro-3@example.com', '203.0.113.50', 'pro')).toBe('too_many_registrations');
  });

  test('the cap holds over instances, and wallets that were made for nothing go back', async () => {
    const before = { ...wallets };
    const instances = [instance(), instance()];
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        go(instances[index % 2] as ReturnType<typeof instance>, `two-${index}@example.com`, '203.0.113.40'),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome === 'too_many_registrations')).toHaveLength(7);
    expect(wallets.made - before.made - (wallets.givenBack - before.givenBack)).toBe(3);
  });
});
