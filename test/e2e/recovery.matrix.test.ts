import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { endProcess } from '../../sandbox/data-dir.ts';
import type { TestAccount } from '../support/client.ts';
import { preparedDataDir } from '../support/prepared-data-dir.ts';
import {
  begin,
  canSignIn,
  launchServer,
  postgresPid,
  runCommand,
  type ServerProcess,
  temporaryDataDir,
} from '../support/process.ts';

/** Registers without pause until told to stop; answers the accounts that were acknowledged. */
function keepRegistering(server: ServerProcess): {
  reached(count: number): Promise<void>;
  stop(): Promise<TestAccount[]>;
} {
  const acknowledged: TestAccount[] = [];
  let stopped = false;
  const register = async () => {
    while (!stopped) {
      try {
        acknowledged.push(await server.client.register());
      } catch {
        await sleep(5);
      }
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, register));
  return {
    async reached(count) {
      while (acknowledged.length < count) await sleep(5);
    },
    async stop() {
      stopped = true;
      await clients;
      return acknowledged;
    },
  };
}

/** The folder that PostgreSQL is being set up in, once its own program has written some of it. */
function halfSetUp(dataDir: string): string | undefined {
  if (!existsSync(dataDir)) return undefined;
  const fresh = readdirSync(dataDir).find((name) => name.startsWith('postgres.new-'));
  return fresh !== undefined && existsSync(join(dataDir, fresh, 'base')) ? fresh : undefined;
}

describe('SIGKILL', () => {
  const both = 'the server and its PostgreSQL';

  for (const what of ['only the server', both])
    test(`${what}: nothing acknowledged is lost`, { tags: ['matrix'] }, async () => {
      const dataDir = await preparedDataDir();
      const first = await launchServer({ dataDir });
      const load = keepRegistering(first);
      await load.reached(8);
      const postgres = postgresPid(dataDir) ?? 0;
      if (what !== both) {
        await first.end('SIGKILL');
        expect(postgresPid(dataDir)).toBe(postgres);
      } else {
        process.kill(postgres, 'SIGKILL');
        await first.end('SIGKILL');
      }
      const accounts = await load.stop();
      expect(accounts.length).toBeGreaterThanOrEqual(8);

      const second = await launchServer({ dataDir });
      for (const account of accounts) {
        expect((await second.client.get('/account', account.key)).body).toMatchObject({
          email: account.email,
          handle: account.handle,
        });
      }
      expect(await second.end('SIGTERM')).toBe(0);
    });

  /** Of the very first start, in their order. */
  const moments: Readonly<Record<string, (first: { readonly dataDir: string; output(): string }) => boolean>> = {
    'the folder is locked': ({ output }) => output().includes('Starting PostgreSQL …'),
    'PostgreSQL is half set up': ({ dataDir }) => halfSetUp(dataDir) !== undefined,
    'the database is about to be migrated': ({ output }) => output().includes('Preparing the database …'),
    'the chains are about to begin': ({ output }) => output().includes('Starting six local chains …'),
  };

  test('at any moment of the very first start, the next one recovers by itself', { tags: ['matrix'] }, async () => {
    for (const [moment, isNow] of Object.entries(moments)) {
      const dataDir = temporaryDataDir();
      const first = begin(['start'], { dataDir, env: { PORT: '0' } });
      while (!isNow({ dataDir, output: first.output })) {
        expect(first.child.exitCode, moment).toBe(null);
        await sleep(2);
      }
      first.child.kill('SIGKILL');
      await first.ended;
      const second = await launchServer({ dataDir });
      expect((await second.client.register()).key).toBeTruthy();
      expect(await second.end('SIGTERM')).toBe(0);
    }
  });

  test('a lock file that names a process of somebody else is no obstacle', { tags: ['matrix'] }, async () => {
    const dataDir = await preparedDataDir();
    const first = await launchServer({ dataDir });
    const account = await first.client.register();
    process.kill(postgresPid(dataDir) ?? 0, 'SIGKILL');
    await first.end('SIGKILL');
    const lines = [String(process.pid), join(dataDir, 'postgres'), '1', '5432', '', '', ''];
    writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), lines.join('\n'));
    writeFileSync(join(dataDir, 'server.lock'), JSON.stringify({ pid: process.pid, identity: 'somebody else' }));
    const second = await launchServer({ dataDir });
    expect(await canSignIn(second, account)).toBe(true);
    expect(await second.end('SIGTERM')).toBe(0);
  });
});

describe('while it runs', () => {
  test('SIGTERM finishes what is under way', { tags: ['matrix'] }, async () => {
    const dataDir = await preparedDataDir();
    const first = await launchServer({ dataDir });
    const underWay = Array.from({ length: 10 }, () => first.client.register());
    // They wait for one another to hash a password: when the first is done, the others are under way.
    await Promise.race(underWay);
    const ended = first.end('SIGTERM');
    const accounts = await Promise.all(underWay);
    expect(await ended).toBe(0);
    const second = await launchServer({ dataDir });
    for (const account of accounts) expect((await second.client.get('/account', account.key)).status).toBe(200);
  });

  test('a PostgreSQL that dies is started again, and requests in between get a clear 503', {
    tags: ['matrix'],
  }, async () => {
    const dataDir = await preparedDataDir();
    const server = await launchServer({ dataDir });
    const account = await server.client.register();
    await endProcess(postgresPid(dataDir) ?? 0, 'SIGKILL', 5_000);
    const replies: { status: number; code?: string }[] = [];
    await expect
      .poll(
        async () => {
          const { status, body } = await server.client.post('/agent/register', {
            email: account.email,
            password: account.password,
          });
          replies.push({ status, code: body.code });
          return status;
        },
        { interval: 20 },
      )
      .toBe(200);
    for (const { status, code } of replies.filter((reply) => reply.status !== 200)) {
      expect([status, code]).toEqual([503, 'unavailable']);
    }
    expect((await server.client.get('/account', account.key)).status).toBe(200);
  });

  test('the operator looks at an account and freezes it', { tags: ['matrix'] }, async () => {
    const dataDir = await preparedDataDir();
    const server = await launchServer({ dataDir });
    const account = await server.client.register({ name: 'Grace' });
    const operator = (...args: string[]) => runCommand(['account', ...args], { dataDir });
    expect((await operator('show', account.email)).output).toMatch(new RegExp(`handle +${account.handle}\n`));
    expect((await operator('freeze', account.handle)).output).toBe(`${account.handle} is frozen.\n`);
    expect((await server.client.get('/account', account.key)).body.frozen).toBe(true);
    expect((await operator('unfreeze', account.handle)).code).toBe(0);
    expect((await operator('set-tier', account.handle, 'enterprise')).code).toBe(0);
    await expect
      .poll(async () => (await server.client.get('/account', account.key)).body)
      .toMatchObject({ frozen: false, tier: 'enterprise' });
    expect(await operator('show', 'nobody@example.com')).toEqual({
      code: 1,
      output: 'No account has the handle or email "nobody@example.com".\n',
    });
    expect(await operator('set-tier', account.handle, 'gold')).toEqual({
      code: 1,
      output: 'The tier must be free, pro or enterprise, not "gold".\n',
    });
    expect((await runCommand(['migrate'], { dataDir })).output).toBe('The database is up to date.\n');
  });
});
