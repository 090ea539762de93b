import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../sandbox/postgres.ts';
import { prepare } from '../../scripts/prepare.mjs';
import { createLogger } from '../../src/kernel/log/logger.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The test server's maintenance database; test databases are made from the template beside it. */
    postgresUrl: string;
    /** Where services on test databases keep what is not in the database, each in a place of its own. */
    dataDir: string;
  }
}

/** A power cut would lose nothing that is not lost with the run anyway. Each new database asks for a checkpoint, and every page after one would be logged whole. */
const settings = {
  max_connections: '600',
  fsync: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
};

/** Runs the tests on another PostgreSQL than the embedded one. `POSTGRES_BIN=/usr/lib/postgresql/15/bin npm test` */
const binDir = process.env['POSTGRES_BIN'];

/** One real PostgreSQL for the whole run, with one migrated database that every test file clones in milliseconds. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const built = prepare();
  built.catch(() => {});
  const dataDir = mkdtempSync(join(tmpdir(), 'paywright-test-'));
  // The service is loaded while the database starts.
  const [postgres, { features }, { prepareDatabase }] = await Promise.all([
    startEmbeddedPostgres({ dataDir, settings, ...(binDir !== undefined && { binDir }) }),
    import('../../src/app/features.ts'),
    import('../../src/app/database.ts'),
  ]);
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query('CREATE DATABASE template_paywright');
  await prepareDatabase(postgres.url.replace(/\/[^/]+$/, '/template_paywright'), {
    features,
    logger: createLogger('silent'),
  });
  await admin.end();
  await built;
  project.provide('postgresUrl', postgres.url);
  project.provide('dataDir', join(dataDir, 'services'));
  return async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
