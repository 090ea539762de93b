import { createClaimTable } from '../kernel/db/claim-database.ts';
import { type Database, openDatabase } from '../kernel/db/database.ts';
import { examineServer } from '../kernel/db/examine-server.ts';
import type { FixedRows } from '../kernel/db/fixed-rows.ts';
import { findServiceRole, grantService } from '../kernel/db/grant-service.ts';
import { type MigrateOptions, mayMigrate, migrate, requireSchema } from '../kernel/db/migrate.ts';
import { usualPatience } from '../kernel/db/migration-lock.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { Refusal } from '../kernel/refusal.ts';
import { declareSagas } from '../kernel/sagas/define-saga.ts';
import { type OpenedSecrets, type OpenSecretsOptions, openSecrets } from '../kernel/secrets/open-secrets.ts';
import { assetIds, assets, chainIds, chains } from '../money/catalogue.ts';
import { readGivenSecrets } from './given-secrets.ts';
import { type ListedFeature, sagasOf, sealedOf } from './listed-feature.ts';
import { loadSandbox } from './sandbox.ts';
import type { SandboxStoreOptions, Store } from './sandbox-port.ts';
import type { ServiceSettings } from './settings.ts';

interface OpenStoreOptions extends Omit<SandboxStoreOptions, 'dataDir'> {
  readonly config: ServiceSettings;
}

export async function openStore({ config, ...options }: OpenStoreOptions): Promise<Store> {
  const { databaseUrl: url, dataDir } = config;
  // A build without a sandbox is refused before it writes to the operator's database that it is one.
  if (url !== undefined && config.mode === 'sandbox') await loadSandbox(config);
  if (url !== undefined) {
    return { url: await examineServer({ url, name: 'DATABASE_URL' }), close: async () => {} };
  }
  const { openSandboxStore } = await loadSandbox(config);
  return openSandboxStore({ ...options, dataDir });
}

export function openStoreDatabase(store: Store, config: ServiceSettings, logger: Logger): Database {
  return openDatabase({ url: store.url, poolSize: config.databasePoolSize, logger });
}

/** Opens the operator's secret for a process that seals. */
export async function openStoreSecrets(
  { config, db, url, logger }: Pick<OpenSecretsOptions, 'db' | 'url' | 'logger'> & { readonly config: ServiceSettings },
  features: readonly ListedFeature[],
): Promise<OpenedSecrets> {
  const given = await readGivenSecrets(config, db);
  return openSecrets({ db, url, logger, given, sealed: sealedOf(features) });
}

interface MigrateDatabaseOptions {
  readonly config: ServiceSettings;
  /** The service's own database URL. */
  readonly url: string;
  readonly features: readonly ListedFeature[];
  readonly logger: Logger;
  readonly say: (line: string) => void;
}

/** `paywright migrate`: migrates as the role that owns the tables, then grants the service role what it needs. */
export async function migrateDatabase({ config, url, features, logger, say }: MigrateDatabaseOptions): Promise<void> {
  const ownerUrl = await openOwner(config, url);
  const patience = { ...usualPatience, say };
  if (ownerUrl !== url && config.databaseUrl === undefined) {
    throw new Refusal('DATABASE_URL is missing: with MIGRATION_DATABASE_URL it must name the role of the service.');
  }
  const role = ownerUrl === url ? undefined : await findServiceRole({ ownerUrl, serviceUrl: url });
  const { applied } = await prepareDatabase(ownerUrl, { features, logger, patience });
  say(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  if (role === undefined) return;
  await createClaimTable(ownerUrl);
  // The tables that a sandbox would otherwise create itself.
  if (config.mode === 'sandbox') await useDatabase(ownerUrl, logger, (await loadSandbox(config)).createSandboxTables);
  await grantService(ownerUrl, role, patience);
  say(`Granted ${role} its privileges; it owns no table.`);
}

/** The URL of the role that owns the tables: the service's own, unless the operator has named another. */
export async function openOwner({ migrationDatabaseUrl }: ServiceSettings, url: string): Promise<string> {
  if (migrationDatabaseUrl === undefined) return url;
  return examineServer({ url: migrationDatabaseUrl, name: 'MIGRATION_DATABASE_URL' });
}

export async function useDatabase(url: string, logger: Logger, work: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase({ url, poolSize: 1, logger });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

/** The assets and chains of this release, as rows of the ledger's tables. */
export const catalogueRows: readonly FixedRows[] = [
  {
    table: 'ledger.assets',
    columns: ['code', 'symbol', 'decimals'],
    rows: assetIds.map((symbol) => [assets[symbol].code, symbol, assets[symbol].decimals]),
  },
  { table: 'ledger.chains', columns: ['code', 'id'], rows: chainIds.map((id) => [chains[id].code, id]) },
];

export interface PrepareOptions {
  readonly features: readonly ListedFeature[];
  readonly logger: Logger;
  readonly patience?: MigrateOptions;
}

/**
 * Brings the database to what this release needs: the schema and the declared sagas. A role that may not migrate only
 * checks it.
 */
export async function prepareDatabase(
  url: string,
  { features, logger, patience }: PrepareOptions,
): Promise<{ readonly applied: readonly string[] }> {
  const { applied, isNewer } = (await mayMigrate(url))
    ? await migrate(url, { ...patience, fixedRows: catalogueRows })
    : { applied: [], ...(await requireSchema(url, catalogueRows)) };
  // An older release must not overwrite the saga declarations of a newer one.
  if (!isNewer) await useDatabase(url, logger, (db) => declareSagas(db, sagasOf(features)));
  return { applied };
}
