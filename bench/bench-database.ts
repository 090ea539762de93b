import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../sandbox/postgres.ts';
import { catalogueRows } from '../src/app/database.ts';
import { migrate } from '../src/kernel/db/migrate.ts';

export interface BenchServer {
  /** A new database on the server, empty or with every migration applied. */
  createDatabase(name: string, content: 'empty' | 'migrated'): Promise<string>;
  stop(): Promise<void>;
}

/** One PostgreSQL for the whole run, with the durability that it has by default. */
export async function startBenchServer(): Promise<BenchServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'paywright-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir });
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await assertDurable(admin);
  return {
    async createDatabase(name, content) {
      await admin.query(`CREATE DATABASE ${name}`);
      const url = postgres.url.replace(/\/[^/]+$/, `/${name}`);
      if (content === 'migrated') await migrate(url, { fixedRows: catalogueRows });
      return url;
    },
    async stop() {
      await admin.end();
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function assertDurable(admin: pg.Client): Promise<void> {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await admin.query<Record<string, string>>(`SHOW ${setting}`);
    if (rows[0]?.[setting] !== 'on') throw new Error(`${setting} is off: these figures would mean nothing`);
  }
}
