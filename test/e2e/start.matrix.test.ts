import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lockHolder } from '../../sandbox/data-dir.ts';
import { startEmbeddedPostgres } from '../../sandbox/postgres.ts';
import { asNobody } from '../../sandbox/privileges.ts';
import { preparedDataDir } from '../support/prepared-data-dir.ts';
import {
  beginNpmStart,
  canSignIn,
  launchServer,
  postgresPid,
  runCommand,
  temporaryDataDir,
} from '../support/process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('starting', () => {
  test('serves, remembers across a clean stop, and leaves nothing running', async () => {
    const dataDir = temporaryDataDir();
    const first = await launchServer({ dataDir });
    expect(await (await fetch(`${first.url}/health`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${first.url}/ready`)).json()).toMatchObject({ status: 'ready' });
    expect(first.output()).toContain(`${first.url}/api`);
    const account = await first.client.register();
    // The operator's commands find the server that runs in the folder.
    expect(await runCommand(['account', 'freeze', account.handle], { dataDir })).toEqual({
      code: 0,
      output: `${account.handle} is frozen.\n`,
    });
    expect(await first.end('SIGTERM')).toBe(0);
    expect(postgresPid(dataDir)).toBeUndefined();

    const second = await launchServer({ dataDir });
    expect(await canSignIn(second, account)).toBe(true);
    expect(await second.client.get('/account', account.key)).toMatchObject({ status: 200, body: { frozen: true } });
    expect(await second.end('SIGINT')).toBe(0);
  });

  test('npm start stops with npm, whoever of the two is told to', { tags: ['matrix'] }, async () => {
    const dataDir = await preparedDataDir();
    const { npm, url } = await beginNpmStart(dataDir);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    npm.kill('SIGTERM');
    await expect.poll(() => postgresPid(dataDir)).toBeUndefined();
    await expect.poll(() => lockHolder(dataDir)).toBeUndefined();
  });

  test('two copies run side by side', { tags: ['matrix'] }, async () => {
    const [one, two] = await Promise.all([
      launchServer({ dataDir: temporaryDataDir() }),
      launchServer({ dataDir: temporaryDataDir() }),
    ]);
    const account = await one.client.register();
    expect((await one.client.get('/account', account.key)).status).toBe(200);
    expect((await two.client.get('/account', account.key)).status).toBe(401);
  });

  test('works in a folder whose path is longer than a socket address may be', { tags: ['matrix'] }, async () => {
    const server = await launchServer({ dataDir: temporaryDataDir(`${'deep/'.repeat(25)}data`) });
    expect((await server.client.register()).key).toBeTruthy();
    expect(await server.end('SIGTERM')).toBe(0);
  });

  test('works for root where user namespaces are forbidden', { tags: ['root', 'matrix'] }, async () => {
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const postgres = await startEmbeddedPostgres({ dataDir, demotion: asNobody });
    await postgres.stop();
    // And the same folder again the usual way.
    const server = await launchServer({ dataDir });
    expect(await server.end('SIGTERM')).toBe(0);
  });

  test('works for an ordinary user', { tags: ['other-user', 'matrix'] }, async () => {
    const parent = mkdtempSync(join(tmpdir(), 'paywright-e2e-'));
    chownSync(parent, 65_534, 65_534);
    const dataDir = join(parent, 'data');
    const prefix = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
    const server = await launchServer({ dataDir, prefix, env: { NODE_ENV: 'production', HOME: parent } });
    expect((await server.client.register()).key).toBeTruthy();
    expect(await server.end('SIGTERM')).toBe(0);
  });
});

test('what a user began in a closed folder stays theirs when root starts it', {
  tags: ['other-user', 'matrix'],
}, async () => {
  const parent = mkdtempSync(join(tmpdir(), 'paywright-e2e-'));
  chownSync(parent, 65_534, 65_534);
  const dataDir = join(parent, 'data');
  const prefix = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
  const first = await launchServer({ dataDir, prefix, env: { HOME: parent } });
  const account = await first.client.register();
  expect(await first.end('SIGTERM')).toBe(0);
  const asRoot = await launchServer({ dataDir });
  expect(await canSignIn(asRoot, account)).toBe(true);
  expect(await asRoot.end('SIGTERM')).toBe(0);
  const again = await launchServer({ dataDir, prefix, env: { HOME: parent } });
  expect(await canSignIn(again, account)).toBe(true);
  expect(await again.end('SIGTERM')).toBe(0);
});

test.each(['SIGHUP', 'two SIGINT'])('%s leaves no PostgreSQL behind', { tags: ['matrix'] }, async (how) => {
  const dataDir = await preparedDataDir();
  const server = await launchServer({ dataDir });
  if (how === 'SIGHUP') await server.end('SIGHUP');
  else {
    server.child.kill('SIGINT');
    await server.end('SIGINT');
  }
  await expect.poll(() => postgresPid(dataDir)).toBeUndefined();
});

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
      `Port ${port} on 127.0.0.1 is in use: stop the process that uses it, or set PORT to another port.`,
    );
  });

  test('a wrong value is one sentence', { tags: ['matrix'] }, async () => {
    expect(await refusal({ PORT: 'http' })).toBe('PORT must be a whole number from 0 to 65535 (it is "http").');
    expect(await refusal({ HOST: '192.0.2.77', PORT: '0' })).toBe(
      'HOST is 192.0.2.77, which is not an address of this machine.',
    );
    expect(await refusal({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x', PORT: '0' })).toMatch(
      /The database does not answer: check DATABASE_URL, or try again in a moment\.$/,
    );
  });

  test('live mode lists what is missing', async () => {
    const output = await refusal({ PAYWRIGHT_MODE: 'live', PORT: '0' });
    expect(output).toMatch(/^Live mode does not start until this is fixed:\n {2}- DATABASE_URL is missing/);
  });

  test('live mode installs and builds nothing, and says what to run', () => {
    const clone = cloneOfSources();
    expect(startLive(clone)).toEqual([
      1,
      'Live mode installs and builds nothing by itself:\n  - the dependencies are not those of the lockfile: run npm ci\n  - the build is not one of these sources: run npm run build\n',
    ]);
    expect(readdirSync(clone)).not.toContain('node_modules');
  });

  test('live mode runs no build that has taken in other dependencies', { tags: ['matrix'] }, () => {
    const clone = cloneOfSources();
    for (const folder of ['node_modules', 'dist']) mkdirSync(join(clone, folder));
    const mark = (...names: string[]) => {
      const calls = names.map((name) => `prepare.${name}();`).join(' ');
      const script = `import * as prepare from './scripts/prepare.mjs'; ${calls}`;
      const marked = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: clone });
      expect(marked.status).toBe(0);
    };
    mark('markInstalled', 'markBuilt');
    // As npm ci does after a dependency was raised.
    appendFileSync(join(clone, 'package-lock.json'), '\n');
    mark('markInstalled');
    expect(startLive(clone)).toEqual([
      1,
      'Live mode installs and builds nothing by itself:\n  - the build is not one of these sources: run npm run build\n',
    ]);
  });

  test('a folder that another server uses', { tags: ['matrix'] }, async () => {
    const dataDir = await preparedDataDir();
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

  test('a folder that cannot be made', async () => {
    expect(await refusal({ PORT: '0' }, '/proc/paywright/data')).toBe(
      'DATA_DIR is /proc/paywright/data, which cannot be created.',
    );
  });

  test('a full disk is one sentence', { tags: ['mount'] }, async () => {
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir);
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=30m', 'tmpfs', dataDir]);
    onTestFinished(() => void spawnSync('umount', [dataDir]));
    expect(await refusal({ PORT: '0' }, dataDir)).toBe(
      `The disk is full: ${dataDir} has 30 MB left and Paywright needs 150 MB to start.`,
    );
  });
});

/** The sources alone, as they come from the repository. */
function cloneOfSources(): string {
  const clone = mkdtempSync(join(tmpdir(), 'paywright-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true, force: true }));
  for (const part of [
    'bin',
    'scripts',
    'src',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ])
    cpSync(join(root, part), join(clone, part), { recursive: true });
  return clone;
}

function startLive(clone: string): [code: number | null, said: string] {
  const { status, stderr } = spawnSync(process.execPath, [join(clone, 'bin/paywright.mjs'), 'start'], {
    env: { PATH: process.env['PATH'], PAYWRIGHT_MODE: 'live' },
    encoding: 'utf8',
  });
  return [status, stderr];
}
