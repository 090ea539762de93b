import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../src/kernel/refusal.ts';
import { lockDataDir, lockHolder, refuseUnlessFolder } from './data-dir.ts';
import { halfMadeIn, isOwnPostgres, refuseOthersPostgres } from './own-postgres.ts';
import { endEmbeddedPostgres } from './postgres.ts';

/**
 * What a sandbox has written into its folder, by whole paths. A file or folder counts only if it looks like what a sandbox makes: the
 * folder may hold other things, and DATA_DIR may name the wrong one.
 */
export function findSandboxState(dataDir: string): readonly string[] {
  if (!existsSync(dataDir)) return [];
  refuseUnlessFolder(dataDir);
  const database = join(dataDir, 'postgres');
  const halfMade = halfMadeIn(dataDir);
  const isThere = isOwnFolder(database, ['PG_VERSION']);
  if (isThere) refuseOthersPostgres(database);
  // A reset that was interrupted has renamed it.
  const isSandbox = isThere || halfMade.some(isOwnPostgres);
  if (!isSandbox && halfMade.length === 0) return [];
  const besides = [
    ...(isSandbox && isOwnFolder(join(dataDir, 'shop'), ['journal.jsonl', 'port']) ? ['shop'] : []),
    ...(isOwnFolder(join(dataDir, 'postgres-socket'), ['s']) ? ['postgres-socket'] : []),
    ...(isSandbox ? ['postgres.log', 'postgres.log.1'].filter((name) => existsSync(join(dataDir, name))) : []),
  ];
  // The database is the last, because it says that this is the folder of a sandbox: what was interrupted is found again.
  return [...besides.map((name) => join(dataDir, name)), ...halfMade, ...(isThere ? [database] : [])];
}

/** A folder with at least one of the signs in it. */
function isOwnFolder(path: string, signs: readonly string[]): boolean {
  if (!signs.some((sign) => existsSync(join(path, sign)))) return false;
  if (lstatSync(path).isSymbolicLink()) {
    throw new Refusal(`${path} is a link, which no sandbox makes: delete what it points to yourself, then the link.`);
  }
  return true;
}

export function refuseWhileRunning(dataDir: string): void {
  const holder = lockHolder(dataDir);
  if (holder === undefined) return;
  throw new Refusal(
    `Another Paywright (process ${holder}) is using the sandbox in ${dataDir}: stop it or let it finish, then reset it.`,
  );
}

/** Deletes the state of a sandbox and nothing else. May be interrupted anywhere and run again. */
export async function deleteSandboxState(dataDir: string): Promise<void> {
  refuseWhileRunning(dataDir);
  // Nobody starts in it meanwhile.
  const lock = lockDataDir(dataDir);
  try {
    await endEmbeddedPostgres(dataDir);
    for (const path of findSandboxState(dataDir)) remove(path, dataDir);
  } finally {
    lock.release();
  }
}

function remove(path: string, dataDir: string): void {
  const isDatabase = path === join(dataDir, 'postgres');
  // Half a database would be taken for a whole one. By this name the next start deletes it, too.
  const doomed = isDatabase ? join(dataDir, `postgres.new-${process.pid}`) : path;
  if (isDatabase) renameSync(path, doomed);
  rmSync(doomed, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
