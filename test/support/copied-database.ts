import { randomBytes } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { administer, migratedTemplate } from './database.ts';

export interface OwnDatabase {
  readonly name: string;
  readonly url: string;
}

/** A database of a single test, as a copy of another: of one with every migration, if not said otherwise. Nobody may use it then. */
export async function copyDatabase(from = migratedTemplate): Promise<OwnDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${from}`);
  onTestFinished(() => administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`));
  return { name, url: adminUrl.replace(/\/[^/]+$/, `/${name}`) };
}

export function open({ url }: OwnDatabase): Database {
  return openDatabase({ url, poolSize: 5, logger: createLogger('silent') });
}
