import { existsSync, lchownSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../src/kernel/refusal.ts';
import { commandOf } from './data-dir.ts';

/**
 * DATA_DIR may contain another PostgreSQL in a folder of the same name. This file marks the sandbox's own, and the sandbox
 * touches no other.
 */
const mark = 'paywright-sandbox';

/** The sandbox's socket folder: beside the data, or in the temporary folder if that path is too long. */
const ownSocketDir = String.raw`/(postgres-socket|paywright-(\d+-)?[0-9a-f]{16})(/s)?`;

/** Older sandboxes have no mark. Their recorded start options identify them. */
const ownStart = new RegExp(`"unix_socket_directories=.*${ownSocketDir}"`);

/** What initdb creates in a data folder, plus our mark. */
const ownNames = new RegExp(`^(PG_VERSION|base|global|pg_.+|postgresql(\\.auto)?\\.conf|postmaster\\.\\w+|${mark})$`);

/** Call after initdb, which requires an empty folder. */
export function markAsOwn(data: string, owner: number): void {
  const file = join(data, mark);
  writeFileSync(file, 'This PostgreSQL belongs to a Paywright sandbox. "paywright reset" deletes it.\n', {
    mode: 0o600,
  });
  if (process.getuid?.() === 0) lchownSync(file, owner, owner);
}

export function isOwnPostgres(data: string): boolean {
  return existsSync(join(data, mark)) || ownStart.test(readIfThere(join(data, 'postmaster.opts')));
}

/** Call before changing the folder or stopping a process. */
export function refuseOthersPostgres(data: string): void {
  if (!existsSync(data)) return;
  if (!isOwnPostgres(data)) {
    throw new Refusal(
      `${data} was not created by a sandbox, so it was left unchanged. Set another DATA_DIR, or delete it yourself.`,
    );
  }
  // Another tool may have started the sandbox's PostgreSQL. Line 5 of postmaster.pid has its socket folder.
  const [pid, , , , socketDir = ''] = readIfThere(join(data, 'postmaster.pid')).split('\n');
  if (socketDir === '' || new RegExp(`${ownSocketDir}$`).test(socketDir)) return;
  if (commandOf(Number(pid)) === undefined) return;
  throw new Refusal(
    `A PostgreSQL that the sandbox did not start (process ${pid}) is running in ${data}. Stop it, then try again.`,
  );
}

/**
 * Folders of interrupted set-ups and deletions. The name alone is not enough, because a user may have such a folder: its content
 * must fit, and if PostgreSQL ever ran there, it must be the sandbox's.
 */
export function halfMadeIn(dataDir: string): readonly string[] {
  return readdirSync(dataDir)
    .filter((name) => /^postgres\.new-\d+$/.test(name))
    .map((name) => join(dataDir, name))
    .filter((path) => lstatSync(path).isDirectory() && readdirSync(path).every((name) => ownNames.test(name)))
    .filter((path) => !existsSync(join(path, 'postmaster.opts')) || isOwnPostgres(path));
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
