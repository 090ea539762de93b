import { expect, test } from 'vitest';
import { useService } from '../support/service.ts';

const service = useService({ env: { REGISTRATIONS_PER_DAY_PER_NETWORK: '3', TRUSTED_PROXIES: '127.0.0.1' } });

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
