import type { SandboxStoreOptions, Store } from '../src/app/sandbox-port.ts';
import { lockDataDir, lockHolder, openDataDir } from './data-dir.ts';
import { embeddedPostgresUrl, startEmbeddedPostgres } from './postgres.ts';

/** Runs PostgreSQL in DATA_DIR, one process at a time. */
export async function openSandboxStore({ dataDir, logger, say, mayJoin }: SandboxStoreOptions): Promise<Store> {
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
