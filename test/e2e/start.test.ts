import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/sandbox/postgres.ts';
import { demotions } from '../../src/sandbox/privileges.ts';
import { endProcess } from '../../src/sandbox/processes.ts';
import type { TestAccount } from '../support/client.ts';
import {
  begin,
  launchServer,
  postgresPid,
  runCommand,
  type ServerProcess,
  temporaryDataDir,
} from '../support/process.ts';

const isRoot = process.getuid?.() === 0;

async function canSignIn({ client }: ServerProcess, { email, password, handle }: TestAccount): Promise<boolean> {
  const { body } = await client.post('/agent/register', { email, password });
  return body.agentHandle === handle;
}

describe('starting', () => {
  test('serves, remembers across a clean stop, and leaves nothing running', async () => {
    const dataDir = temporaryDataDir();
    const first = await launchServer({ dataDir });
    expect(await (await fetch(`${first.url}/health`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${first.url}/ready`)).json()).toMatchObject({ status: 'ready' });
    expect(first.output()).toContain(`${first.url}/api`);
    const account = await first.client.register();
    expect(await first.end('SIGTERM')).toBe(0);
    expect(postgresPid(dataDir)).toBeUndefined();

    const second = await launchServer({ dataDir });
    expect(await canSignIn(second, account)).toBe(true);
    expect((await second.client.get('/account', account.key)).status).toBe(200);
    expect(await second.end('SIGINT')).toBe(0);
  });

  test('two copies run side by side', async () => {
    const [one, two] = await Promise.all([
      launchServer({ dataDir: temporaryDataDir() }),
      launchServer({ dataDir: temporaryDataDir() }),
    ]);
    const account = await one.client.register();
    expect((await one.client.get('/account', account.key)).status).toBe(200);
    expect((await two.client.get('/account', account.key)).status).toBe(401);
  });

  test('works in a folder whose path is longer than a socket address may be', async () => {
    const server = await launchServer({ dataDir: temporaryDataDir(`${'deep/'.repeat(25)}data`) });
    expect((await server.client.register()).key).toBeTruthy();
    expect(await server.end('SIGTERM')).toBe(0);
  });

  test.runIf(isRoot)('works for root where user namespaces are forbidden', async () => {
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const postgres = await startEmbeddedPostgres({ dataDir, demotion: demotions.capable });
    await postgres.stop();
    // And the same folder again the usual way.
    const server = await launchServer({ dataDir });
    expect(await server.end('SIGTERM')).toBe(0);
  });

  test.runIf(isRoot && ordinaryUserReadsTheSources())('works for an ordinary user', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'paywright-e2e-'));
    chownSync(parent, 65_534, 65_534);
    const dataDir = join(parent, 'data');
    const prefix = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
    const server = await launchServer({ dataDir, prefix, env: { NODE_ENV: 'production', HOME: parent } });
    expect((await server.client.register()).key).toBeTruthy();
    expect(await server.end('SIGTERM')).toBe(0);
  });
});

function ordinaryUserReadsTheSources(): boolean {
  const args = ['--reuid=65534', '--regid=65534', '--clear-groups', '--', 'test', '-r', 'src/main.ts'];
  return spawnSync('setpriv', args).status === 0;
}

describe('refusing to start', () => {
  async function refusal(env: Record<string, string>, dataDir = temporaryDataDir()): Promise<string> {
    const { code, output } = await runCommand(['start'], { dataDir, env });
    expect(code).toBe(1);
    return output.trim();
  }

  test('a taken port is one sentence', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    expect(await refusal({ PORT: String(port) })).toBe(
      `Port ${port} on 127.0.0.1 is taken: stop what uses it, or set PORT to another one.`,
    );
  });

  test('a wrong value is one sentence', async () => {
    expect(await refusal({ PORT: 'http' })).toBe('PORT must be a whole number from 0 to 65535 (it is "http").');
    expect(await refusal({ HOST: '192.0.2.77', PORT: '0' })).toBe(
      'HOST is 192.0.2.77, which is not an address of this machine.',
    );
    expect(await refusal({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x', PORT: '0' })).toMatch(
      /The database does not answer: check DATABASE_URL\.$/,
    );
  });

  test('live mode lists what is missing', async () => {
    const output = await refusal({ PAYWRIGHT_MODE: 'live', PORT: '0' });
    expect(output).toMatch(/^Live mode does not start until this is mended:\n {2}- DATABASE_URL is missing/);
  });

  test('a folder that another server uses', async () => {
    const dataDir = temporaryDataDir();
    const server = await launchServer({ dataDir });
    const output = await refusal({ PORT: '0' }, dataDir);
    expect(output).toBe(
      `Another Paywright (process ${server.child.pid}) is using ${dataDir}: stop it, or set another DATA_DIR.`,
    );
    expect((await fetch(`${server.url}/ready`)).status).toBe(200);
  });

  test('a file where the folder should be', async () => {
    const dataDir = temporaryDataDir();
    writeFileSync(dataDir, '');
    expect(await refusal({ PORT: '0' }, dataDir)).toContain('is not a folder');
  });

  test.runIf(isRoot && canMount())('a full disk is one sentence', async () => {
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir);
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=30m', 'tmpfs', dataDir]);
    onTestFinished(() => void spawnSync('umount', [dataDir]));
    expect(await refusal({ PORT: '0' }, dataDir)).toBe(
      `The disk is full: ${dataDir} has 30 MB left and Paywright needs 150 MB to start.`,
    );
  });
});

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'paywright-mount-'));
  if (spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]).status !== 0) return false;
  return spawnSync('umount', [folder]).status === 0;
}

/** Registers without pause until told to stop; answers the accounts that were acknowledged. */
function keepRegistering(server: ServerProcess): { stop(): Promise<TestAccount[]> } {
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
    async stop() {
      stopped = true;
      await clients;
      return acknowledged;
    },
  };
}

describe('SIGKILL', () => {
  test.each(['only the server', 'the server and its PostgreSQL'])('%s: nothing acknowledged is lost', async (what) => {
    const dataDir = temporaryDataDir();
    const first = await launchServer({ dataDir });
    const load = keepRegistering(first);
    await sleep(700);
    const postgres = postgresPid(dataDir) ?? 0;
    if (what === 'only the server') {
      await first.end('SIGKILL');
      expect(postgresPid(dataDir)).toBe(postgres);
    } else {
      process.kill(postgres, 'SIGKILL');
      await first.end('SIGKILL');
    }
    const accounts = await load.stop();
    expect(accounts.length).toBeGreaterThan(5);

    const second = await launchServer({ dataDir });
    for (const account of accounts) {
      expect((await second.client.get('/account', account.key)).body).toMatchObject({
        email: account.email,
        handle: account.handle,
      });
    }
    expect(await second.end('SIGTERM')).toBe(0);
  });

  test('at any moment of the very first start, the next one recovers by itself', async () => {
    for (const delayMs of [150, 400, 700, 1100]) {
      const dataDir = temporaryDataDir();
      const first = begin(['start'], { dataDir, env: { PORT: '0' } });
      await sleep(delayMs);
      first.child.kill('SIGKILL');
      await first.ended;
      const second = await launchServer({ dataDir });
      expect((await second.client.register()).key).toBeTruthy();
      expect(await second.end('SIGTERM')).toBe(0);
    }
  });

  test('a lock file that names a process of somebody else is no obstacle', async () => {
    const dataDir = temporaryDataDir();
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
  test('SIGTERM finishes what is under way', async () => {
    const dataDir = temporaryDataDir();
    const first = await launchServer({ dataDir });
    const underWay = Array.from({ length: 10 }, () => first.client.register());
    await sleep(60);
    const ended = first.end('SIGTERM');
    const accounts = await Promise.all(underWay);
    expect(await ended).toBe(0);
    const second = await launchServer({ dataDir });
    for (const account of accounts) expect((await second.client.get('/account', account.key)).status).toBe(200);
  });

  test('a PostgreSQL that dies is started again, and requests in between get a clear 503', async () => {
    const dataDir = temporaryDataDir();
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
        { timeout: 20_000, interval: 20 },
      )
      .toBe(200);
    for (const { status, code } of replies.filter((reply) => reply.status !== 200)) {
      expect([status, code]).toEqual([503, 'unavailable']);
    }
    expect((await server.client.get('/account', account.key)).status).toBe(200);
  });

  test('the operator looks at an account and freezes it', async () => {
    const dataDir = temporaryDataDir();
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
