import { type Database, openDatabase } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { type OpenedSecrets, type OpenSecretsOptions, openSecrets } from '../kernel/secrets/open-secrets.ts';
import type { Config } from './config.ts';
import { readGivenSecrets } from './given-secrets.ts';
import { type ListedFeature, sealedOf } from './listed-feature.ts';
import { loadSandbox } from './sandbox.ts';
import type { SandboxStoreOptions, Store } from './sandbox-port.ts';

export interface OpenStoreOptions extends Omit<SandboxStoreOptions, 'dataDir'> {
  readonly config: Config;
}

export async function openStore({ config, ...options }: OpenStoreOptions): Promise<Store> {
  const { databaseUrl: url, dataDir } = config;
  // A build without a sandbox is refused before it writes to the operator's database that it is one.
  if (url !== undefined && config.mode === 'sandbox') await loadSandbox(config);
  if (url !== undefined) return { url, close: async () => {} };
  const { openSandboxStore } = await loadSandbox(config);
  return openSandboxStore({ ...options, dataDir });
}

export function openStoreDatabase(store: Store, config: Config, logger: Logger): Database {
  return openDatabase({ url: store.url, poolSize: config.databasePoolSize, logger });
}

/** Opens the operator's secret for a process that seals. */
export async function openStoreSecrets(
  { config, db, url, logger }: Pick<OpenSecretsOptions, 'db' | 'url' | 'logger'> & { readonly config: Config },
  features: readonly ListedFeature[],
): Promise<OpenedSecrets> {
  const given = await readGivenSecrets(config, db);
  return openSecrets({ db, url, logger, given, sealed: sealedOf(features) });
}
