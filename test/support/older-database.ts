import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { runMigrations } from 'graphile-worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { features } from '../../src/app/features.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { openDatabase } from '../../src/db/database.ts';
import { createLogger } from '../../src/logger.ts';
import { administer, type TestDatabase } from './database.ts';

const folder = new URL('../../src/db/migrations/', import.meta.url);

export interface OlderDatabase extends TestDatabase {
  /** Brings it to this release, as a service does that is started on it. */
  upgrade(): Promise<void>;
}

/** A database as the release left it that did not know this migration yet, with its jobs. Call it at the top of the file. */
export function useOlderDatabase({ without }: { readonly without: string }): OlderDatabase {
  const adminUrl = inject('postgresUrl');
  const name = `older_${randomBytes(6).toString('hex')}`;
  const url = adminUrl.replace(/\/[^/]+$/, `/${name}`);
  const logger = createLogger('silent');
  const db = openDatabase({ url, poolSize: 10, logger });

  beforeAll(async () => {
    await administer(adminUrl, `CREATE DATABASE ${name}`);
    await db.query(`CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL,
        checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    for (const [index, file] of (await migrationsBefore(without)).entries()) {
      const sql = await readFile(new URL(file, folder), 'utf8');
      await db.query(sql);
      const checksum = createHash('sha256').update(sql).digest('hex');
      await db.query('INSERT INTO schema_migrations VALUES ($1, $2, $3)', [index + 1, file, checksum]);
    }
    await runMigrations({ connectionString: url });
    // The provider of this release stands in for the older one, and asks for a column that came later.
    if (await isBeforeRestores(without)) await db.query('ALTER TABLE wallet_seeds ADD COLUMN backed_up_at timestamptz');
  });
  afterAll(async () => {
    await db.close();
    await administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return {
    url,
    db,
    async upgrade() {
      if (await isBeforeRestores(without)) await db.query('ALTER TABLE wallet_seeds DROP COLUMN backed_up_at');
      await prepareDatabase(url, { features, logger });
    },
  };
}

async function isBeforeRestores(without: string): Promise<boolean> {
  return (await migrationsBefore(without)).every((file) => !file.endsWith('_restores.sql'));
}

async function migrationsBefore(without: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const place = names.findIndex((file) => file.endsWith(without));
  if (place < 0) throw new Error(`there is no migration ${without}`);
  return names.slice(0, place);
}
