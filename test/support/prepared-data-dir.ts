import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { startEmbeddedPostgres } from '../../sandbox/postgres.ts';
import { prepareDatabase } from '../../src/app/database.ts';
import { features } from '../../src/app/features.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { temporaryDataDir } from './process.ts';
import { until } from './until.ts';

/**
 * A folder of the test's own with a PostgreSQL that is set up and a database that is migrated. For a test that is not about the
 * very first start, half of which goes into that.
 */
export async function preparedDataDir(): Promise<string> {
  const prepared = await prepareOnce();
  const dataDir = temporaryDataDir();
  // PostgreSQL insists on owner and mode of its files, which Node's own way of copying does not keep.
  execFileSync('cp', ['-a', prepared, dataDir]);
  return dataDir;
}

/** The first process of a run that asks makes it and the others wait. It lies beside the run's own PostgreSQL and goes with it. */
function prepareOnce(): Promise<string> {
  const prepared = join(dirname(inject('dataDir')), 'prepared');
  const beside = `${prepared}.new`;
  const look = async () => {
    if (existsSync(prepared)) return prepared;
    if (!makeIfFree(beside)) return undefined;
    try {
      await prepare(beside);
      renameSync(beside, prepared);
    } catch (error) {
      rmSync(beside, { recursive: true, force: true });
      throw error;
    }
    return prepared;
  };
  return until('a folder to be prepared', look, 240_000);
}

async function prepare(dataDir: string): Promise<void> {
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } });
  try {
    await prepareDatabase(postgres.url, { features, logger: createLogger('silent') });
  } finally {
    await postgres.stop();
  }
}

function makeIfFree(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
