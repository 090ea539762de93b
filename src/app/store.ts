import { type Database, openDatabase } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Config } from './config.ts';
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
