import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { type Database, openDatabase } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';

export interface TestDatabase {
  readonly url: string;
  readonly db: Database;
}

export const migratedTemplate = 'template_paywright';

/** A database of its own for a test file, with every migration applied if not said otherwise. Call it at the top of the file. */
export function useDatabase(findTemplate: () => Promise<string> = async () => migratedTemplate): TestDatabase {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const adminUrl = inject('postgresUrl');
  const url = adminUrl.replace(/\/[^/]+$/, `/${name}`);
  const db = openDatabase({ url, poolSize: 10, logger: createLogger('silent') });

  // Nothing has to survive here, so that copying the files is quicker than writing down every page.
  beforeAll(async () =>
    administer(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${await findTemplate()} STRATEGY FILE_COPY`),
  );
  afterAll(async () => {
    await db.close();
    await administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return { url, db };
}

/** Something that is said to the server and not within a database of a test. */
export async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
