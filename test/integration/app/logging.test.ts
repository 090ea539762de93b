import { expect, test } from 'vitest';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { startService, useStartedDatabase } from '../../support/service.ts';
import { mailedToken, verifyEmail } from '../../support/verify-email.ts';

const database = useStartedDatabase();

test('a log tells what happened and never a key, a password, an email, a phone number or a code', async () => {
  const lines: string[] = [];
  const service = await startService(database, {
    env: { SANDBOX_AUTO_VERIFY: 'false' },
    logger: createLogger('trace', { write: (line: string) => void lines.push(line) }),
  });
  const account = await service.client.register({ email: 'very.private@example.com', password: 'a private horse' });
  await service.client.get('/circle/lookup?email=very.private@example.com', account.key);
  await verifyEmail(service.client, account.key);
  await service.client.patch('/account', { phone: '+14155550155' }, account.key);
  const { body } = await service.client.get('/sandbox/messages', account.key);
  const codes = body.messages.map((message: { text: string }) => message.text.slice(0, 6));
  await service.client.post('/account/phone/verify', { code: '000000' }, account.key);
  await service.client.post('/agent/register', { email: 'very.private@example.com', password: 'wrong private' });
  await service.client.post('/account/password/reset', { email: 'very.private@example.com' });
  const token = await mailedToken(service.client, account.key);
  await service.client.post('/account/password/reset/confirm', { token, newPassword: 'iloveyou1' });
  const change = { currentPassword: 'wrong private', newPassword: 'a newer private horse' };
  await service.client.post('/account/password', change, account.key);
  // An unforeseen error whose text quotes a value.
  await database.db.query('ALTER TABLE accounts ADD CONSTRAINT no_ada CHECK (name <> $$ada the second$$)');
  const failed = await service.client.patch('/account', { name: 'ada the second' }, account.key);
  await service.stop();

  expect(failed.status).toBe(500);
  expect(failed.body).toMatchObject({ code: 'internal_error', requestId: expect.stringMatching(/^req_/) });
  expect(JSON.stringify(failed.body)).not.toMatch(/constraint|no_ada|accounts|\.ts|\.js/);

  const log = lines.join('');
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries).toContainEqual(
    expect.objectContaining({
      level: 'info',
      method: 'GET',
      route: '/api/circle/lookup',
      status: 404,
      account: account.handle,
      key: expect.stringMatching(/^key_/),
      from: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
      refusedWith: 'account_not_found',
    }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ level: 'error', requestId: failed.body.requestId }));
  for (const secret of [
    account.key,
    'very.private',
    'private horse',
    'wrong private',
    '4155550155',
    'ada the second',
    token,
    'iloveyou1',
    ...codes,
  ]) {
    expect(log).not.toContain(secret);
  }
});
