import { expect, inject, test } from 'vitest';
import { type Foundation, openFoundation } from '../../../src/app/foundation.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';

const database = useDatabase();

async function withFoundation<Result>(
  env: Readonly<Record<string, string>>,
  look: (foundation: Foundation) => Promise<Result>,
): Promise<Result> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const config = readSettings({ PORT: '0', DATABASE_URL: database.url, DATA_DIR: inject('dataDir'), ...env });
    return await look(
      await openFoundation({ config, logger: createLogger('silent'), say: () => {}, mayJoin: true, closers }),
    );
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

const chainPorts = ({ sandbox }: Foundation) =>
  [...(sandbox?.networks.values() ?? [])].flatMap(({ urls }) => urls.map((url) => new URL(url).port));

test('nobody reaches the database or the local chains, even if the operator names them', async () => {
  // The chains keep their port, so that it can be named at the next start.
  const chains = await withFoundation({}, async (foundation) => chainPorts(foundation));
  expect(chains.length).toBeGreaterThan(0);
  const inner = [...new Set(chains), new URL(database.url).port || '5432', '6390'];
  const named = [...inner, '9000'].flatMap((port) => [`127.0.0.1:${port}`, `localhost:${port}`]);

  const env = { ALLOW_PRIVATE_HOSTS: named.join(','), REDIS_URL: 'redis://127.0.0.1:6390' };
  await withFoundation(env, async (foundation) => {
    expect(chainPorts(foundation)).toEqual(chains);
    for (const port of inner) {
      for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, `https://localhost:${port}/`]) {
        expect(foundation.outgoing.explainRefusal(url)).toBe(`Port ${port} is not allowed.`);
        await expect(foundation.outgoing.request({ method: 'POST', url })).rejects.toMatchObject({ code: 'refused' });
      }
    }
    expect(foundation.outgoing.explainRefusal('http://127.0.0.1:9000/')).toBeUndefined();
    expect(foundation.outgoing.explainRefusal('http://127.0.0.1:9001/')).toBe('The URL must begin with https://.');
  });
});
