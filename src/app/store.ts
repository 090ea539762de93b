import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../db/database.ts';
import type { Logger } from '../logger.ts';
import { lockDataDir, lockHolder, openDataDir } from '../sandbox/data-dir.ts';
import { embeddedPostgresUrl, startEmbeddedPostgres } from '../sandbox/postgres.ts';

/** Where the data is: an operator's PostgreSQL, or the sandbox's own. */
export interface Store {
  readonly url: string;
  close(): Promise<void>;
}

export interface OpenStoreOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  /** Whether a server that runs in the same folder already may be joined; otherwise there is only one. */
  readonly mayJoin: boolean;
}

export async function openStore({ config, logger, say, mayJoin }: OpenStoreOptions): Promise<Store> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== undefined) return { url: databaseUrl, close: async () => {} };
  if (mayJoin && lockHolder(dataDir) !== undefined) return { url: embeddedPostgresUrl(dataDir), close: async () => {} };

  openDataDir(dataDir);
  const lock = lockDataDir(dataDir);
  try {
    say('Starting PostgreSQL …');
    const postgres = await startEmbeddedPostgres({ dataDir, onCrash: (message) => logger.error(message) });
    return {
      url: postgres.url,
      async close() {
        await postgres.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

export function openStoreDatabase(store: Store, config: Config, logger: Logger): Database {
  return openDatabase({ url: store.url, poolSize: config.databasePoolSize, logger });
}
