import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../src/kernel/refusal.ts';
import { lockDataDir, lockHolder, refuseUnlessFolder } from './data-dir.ts';
import { halfMadeIn, isOwnPostgres, refuseOthersPostgres } from './own-postgres.ts';
import { endEmbeddedPostgres } from './postgres.ts';

/**
 * The full paths of what a sandbox has written into its folder. A path counts only if it looks like a sandbox's: the folder may
 * hold other things, and DATA_DIR may be wrong.
 */
export function findSandboxState(dataDir: string): readonly string[] {
  if (!existsSync(dataDir)) return [];
  refuseUnlessFolder(dataDir);
  const database = join(dataDir, 'postgres');
  const halfMade = halfMadeIn(dataDir);
  const isThere = isOwnFolder(database, ['PG_VERSION']);
  if (isThere) refuseOthersPostgres(database);
  // An interrupted reset has renamed the database.
  const isSandbox = isThere || halfMade.some(isOwnPostgres);
  if (!isSandbox && halfMade.length === 0) return [];
  const besides = [
    ...(isSandbox && isOwnFolder(join(dataDir, 'shop'), ['journal.jsonl', 'port']) ? ['shop'] : []),
    ...(isOwnFolder(join(dataDir, 'postgres-socket'), ['s']) ? ['postgres-socket'] : []),
    ...(isSandbox ? ['postgres.log', 'postgres.log.1'].filter((name) => existsSync(join(dataDir, name))) : []),
  ];
  // The database comes last, because it identifies the folder as a sandbox's when an interrupted reset continues.
  return [...besides.map((name) => join(dataDir, name)), ...halfMade, ...(isThere ? [database] : [])];
}

/** A folder that contains at least one of the signs. */
function isOwnFolder(path: string, signs: readonly string[]): boolean {
  if (!signs.some((sign) => existsSync(join(path, sign)))) return false;
  if (lstatSync(path).isSymbolicLink()) {
    throw new Refusal(
      `${path} is a symbolic link, which a sandbox never creates. Delete its target and the link yourself.`,
    );
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

/** Deletes a sandbox's state and nothing else. It can be interrupted and repeated. */
export async function deleteSandboxState(dataDir: string): Promise<void> {
  refuseWhileRunning(dataDir);
  // Prevents a start in the meantime.
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
  // Renamed first, because half a database would look complete. The next start deletes a folder of this name, too.
  const doomed = isDatabase ? join(dataDir, `postgres.new-${process.pid}`) : path;
  if (isDatabase) renameSync(path, doomed);
  rmSync(doomed, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
