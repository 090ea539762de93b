import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { lockDataDir } from '../../../sandbox/data-dir.ts';
import { startEmbeddedPostgres } from '../../../sandbox/postgres.ts';
import { features } from '../../../src/app/features.ts';
import { layFoundation } from '../../../src/app/foundation.ts';
import { readConfig } from '../../../src/app/read-config.ts';
import { resetSandbox } from '../../../src/app/reset-sandbox.ts';
import { withClient } from '../../../src/kernel/db/with-client.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { preparedDataDir } from '../../support/prepared-data-dir.ts';
import { temporaryDataDir } from '../../support/process.ts';

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

/** A folder as a sandbox leaves it, without a database that anybody could open. */
function sandboxLike(): string {
  const dataDir = temporaryDataDir();
  for (const folder of ['postgres', 'postgres-socket/s', 'shop', 'databases/abc/shop']) {
    mkdirSync(join(dataDir, folder), { recursive: true });
  }
  const files = ['postgres/PG_VERSION', 'postgres.log', 'shop/journal.jsonl', 'databases/abc/shop/journal.jsonl'];
  for (const file of files) writeFileSync(join(dataDir, file), '');
  return dataDir;
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
    expect(said.at(-1)).toBe('The sandbox is deleted. "npm start" makes a new one.');
    said = [];
    await reset(dataDir);
    expect(said).toEqual([`There is no sandbox in ${dataDir}. "npm start" makes one.`]);
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
      `The sandbox in ${dataDir} is running (process ${process.pid}): stop it first, then reset it.`,
    );
    lock.release();
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
    await reset(dataDir);
  });

  test('stays when it has begun to run while the question was open', async () => {
    const dataDir = sandboxLike();
    const confirm = async () => {
      lockDataDir(dataDir);
      return true;
    };
    await expect(resetSandbox({ env: { DATA_DIR: dataDir }, features, say: () => {}, confirm })).rejects.toThrow(
      'is running',
    );
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
  });

  test('is found again after a reset that was interrupted', async () => {
    const dataDir = sandboxLike();
    rmSync(join(dataDir, 'shop'), { recursive: true });
    execFileSync('mv', [join(dataDir, 'postgres'), join(dataDir, 'postgres.new-1')]);
    await reset(dataDir);
    expect(readdirSync(dataDir)).toEqual(['databases']);
  });
});

describe('what is no sandbox', () => {
  test('is left alone: other folders of the same names, and no folder at all', async () => {
    const dataDir = temporaryDataDir();
    await reset(dataDir);
    for (const folder of ['postgres', 'shop']) mkdirSync(join(dataDir, folder), { recursive: true });
    for (const file of ['postgres/notes', 'shop/journal.jsonl', 'postgres.log']) writeFileSync(join(dataDir, file), '');
    await reset(dataDir);
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log', 'shop']);
    expect(said).toEqual(Array(2).fill(`There is no sandbox in ${dataDir}. "npm start" makes one.`));
  });

  test('is left alone: what a link points to', async () => {
    const elsewhere = sandboxLike();
    const dataDir = temporaryDataDir();
    mkdirSync(dataDir, { recursive: true });
    symlinkSync(join(elsewhere, 'postgres'), join(dataDir, 'postgres'));
    await expect(reset(dataDir)).rejects.toThrow('is a link, which no sandbox makes');
    expect(existsSync(join(elsewhere, 'postgres/PG_VERSION'))).toBe(true);
  });

  test('is left alone: a live deployment, and a database of the operator', async () => {
    const dataDir = sandboxLike();
    await expect(reset(dataDir, { env: { PAYWRIGHT_MODE: 'live' } })).rejects.toThrow(
      'PAYWRIGHT_MODE is live, and only a sandbox can be reset. Nothing was deleted.',
    );
    await expect(reset(dataDir, { env: { DATABASE_URL: 'postgres://db/mine' } })).rejects.toThrow(
      'The sandbox is in the database that DATABASE_URL names, which is yours and is not deleted here.',
    );
    expect(existsSync(join(dataDir, 'postgres/PG_VERSION'))).toBe(true);
  });
});

test('a sandbox of another version says how to start over, and after a reset it starts', async () => {
  const dataDir = await preparedDataDir();
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } });
  await withClient({ url: postgres.url, applicationName: 'test' }, (client) =>
    client.query("UPDATE schema_migrations SET name = '001_accounts.sql', checksum = 'x' WHERE version = 1"),
  );
  await postgres.stop();
  const start = async () => {
    const closers: (() => Promise<unknown>)[] = [];
    const config = readConfig({ DATA_DIR: dataDir, PORT: '0' });
    try {
      await layFoundation({ config, logger, say: () => {}, mayJoin: false, features, closers });
    } finally {
      for (const close of closers.reverse()) await close();
    }
  };
  await expect(start()).rejects.toThrow(
    `The sandbox in ${dataDir} was made by another version of Paywright, and this one cannot go on with its database. Its money is play money: delete it with "npx paywright reset", then start again.`,
  );
  await reset(dataDir);
  await start();
});
