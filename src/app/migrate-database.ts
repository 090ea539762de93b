import { prepareClaim } from '../kernel/db/claim-database.ts';
import { openDatabase } from '../kernel/db/database.ts';
import { findServiceRole, grantService } from '../kernel/db/grant-service.ts';
import { usualPatience } from '../kernel/db/migration-lock.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Config } from './config.ts';
import type { ListedFeature } from './listed-feature.ts';
import { prepareDatabase } from './prepare-database.ts';
import { loadSandbox } from './sandbox.ts';

export interface MigrateDatabaseOptions {
  readonly config: Config;
  /** The service's own database URL. */
  readonly url: string;
  readonly features: readonly ListedFeature[];
  readonly logger: Logger;
  readonly say: (line: string) => void;
}

/** `paywright migrate`: migrates as the role that owns the tables, then grants the service role what it needs. */
export async function migrateDatabase({ config, url, features, logger, say }: MigrateDatabaseOptions): Promise<void> {
  const { migrationDatabaseUrl: ownerUrl = url } = config;
  const patience = { ...usualPatience, say };
  if (ownerUrl !== url && config.databaseUrl === undefined) {
    throw new Refusal('DATABASE_URL is missing: with MIGRATION_DATABASE_URL it must name the role of the service.');
  }
  const role = ownerUrl === url ? undefined : await findServiceRole({ ownerUrl, serviceUrl: url });
  const { applied } = await prepareDatabase(ownerUrl, { features, logger, patience });
  say(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  if (role === undefined) return;
  await prepareClaim(ownerUrl);
  if (config.mode === 'sandbox') await prepareSandbox(config, ownerUrl, logger);
  await grantService(ownerUrl, role, patience);
  say(`Granted ${role} its privileges; it owns no table.`);
}

/** Creates the tables that a sandbox would otherwise create itself. */
async function prepareSandbox(config: Config, url: string, logger: Logger): Promise<void> {
  const { createSandboxTables } = await loadSandbox(config);
  const db = openDatabase({ url, poolSize: 1, logger });
  try {
    await createSandboxTables(db);
  } finally {
    await db.close();
  }
}
