import { readFileSync, statSync } from 'node:fs';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../db/database.ts';
import type { Logger } from '../logger.ts';
import { Refusal } from '../refusal.ts';
import { lockDataDir, lockHolder, openDataDir } from '../sandbox/data-dir.ts';
import { embeddedPostgresUrl, startEmbeddedPostgres } from '../sandbox/postgres.ts';
import { sandboxSecret } from '../sandbox/secret.ts';
import { createSecrets, type Secrets } from '../secrets.ts';

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

/** The operator's secret, or in a sandbox without one its own. */
export async function openSecrets(config: Config, db: Database): Promise<Secrets> {
  const given = config.secret ?? readSecretFile(config.secretFile);
  return createSecrets(given ?? (await sandboxSecret(db)));
}

function readSecretFile(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let text: string;
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw new Refusal(`PAYWRIGHT_SECRET_FILE can be read by others: run chmod 600 on it.`);
    }
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`PAYWRIGHT_SECRET_FILE cannot be read: ${(error as Error).message}.`);
  }
  if (text.length < 32) throw new Refusal('PAYWRIGHT_SECRET_FILE must hold at least 32 characters.');
  return text;
}
