import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { main } from '../../../src/app/cli.ts';
import { features } from '../../../src/app/features.ts';
import { eventsOf } from '../../../src/app/listed-feature.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import { enqueue } from '../../../src/kernel/jobs/define-job.ts';
import type { TestAccount } from '../../support/client.ts';
import { emptyLetterBox, postcards, postOffice } from '../../support/postcards/feature.ts';
import { startReceiver } from '../../support/receiver.ts';
import { useService } from '../../support/service.ts';

const receiver = await startReceiver();

describe('a feature that is listed in one line', () => {
  const env = { POSTCARD_GREETING: 'Cheers', ALLOW_PRIVATE_HOSTS: receiver.host };
  const list = [...features, postcards];
  const service = useService({ env, features: list });
  let ada: TestAccount;
  beforeAll(async () => {
    ada = await service.client.register();
    const webhook = { url: receiver.url, events: ['postcard.printed'] };
    expect((await service.client.post('/webhooks', webhook, ada.key)).status).toBe(201);
    const sent = await service.client.post('/postcards', { to: 'Bob' }, ada.key);
    expect(sent).toMatchObject({ status: 200, body: { text: 'Cheers, Bob' } });
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  test('has its route and its chapter in the description', async () => {
    const { body } = await service.client.get('/openapi.json');
    expect(body.paths['/postcards'].post).toMatchObject({ operationId: 'sendPostcard', 'x-scope': 'pay' });
    expect(body.tags.at(-1)).toEqual({ name: 'Postcards', description: 'Send somebody a greeting.' });
    expect(await (await fetch(`${service.url}/docs`)).text()).toContain('Send somebody a greeting.');
  });

  test('has its job run, and its event told in its own words', async () => {
    await expect
      .poll(() => receiver.arrived.map(({ body }) => JSON.parse(body)))
      .toMatchObject([{ type: 'postcard.printed', data: { postcard: { text: 'Cheers, Bob' } } }]);
    expect((await service.client.get('/circle/balance', ada.key)).body).toMatchObject({ USDC: '0.01' });
  });

  test('has its schedule kept', async () => {
    const { db } = service.database;
    const { rows } = await db.query('SELECT FROM graphile_worker._private_known_crontabs WHERE identifier = $1', [
      emptyLetterBox.name,
    ]);
    expect(rows).toHaveLength(1);
    await enqueue(db, emptyLetterBox, {});
    await expect.poll(() => postOffice.timesEmptied).toBe(1);
  });

  test('has its command, which knows its settings', async () => {
    vi.stubEnv('DATABASE_URL', service.database.url);
    vi.stubEnv('POSTCARD_GREETING', 'Cheers');
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await main(['node', 'paywright', 'postcards'], process.ppid, list);
    expect(written.mock.calls.map(([text]) => text)).toContain('Postcards that say Cheers: 1\n');
  });

  test('has its setting checked with all the others', () => {
    expect(() => readSettings({ POSTCARD_GREETING: 'x'.repeat(21), PORT: 'y' }, list)).toThrow(
      `PORT must be a whole number from 0 to 65535 (it is "y").\nPOSTCARD_GREETING must be short (it is "${'x'.repeat(21)}").`,
    );
  });

  test('has its loop run until the service stops', async () => {
    expect(postOffice.open).toBe(true);
    await service.stop();
    expect(postOffice.open).toBe(false);
  });
});

test('a name that two features declare is refused, whatever it names', () => {
  const again = { ...postcards, name: 'copied-postcards' };
  expect(() => readSettings({}, [postcards, postcards])).toThrow('the feature postcards is declared twice');
  expect(() => eventsOf([postcards, again])).toThrow('the event postcard.printed is declared twice');
  expect(() => readSettings({}, [postcards, again])).toThrow('the variable POSTCARD_GREETING is declared twice');
});
