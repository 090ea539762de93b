import { existsSync, lchownSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../src/kernel/refusal.ts';
import { commandOf } from './processes.ts';

/**
 * DATA_DIR may name a folder in which someone else keeps a PostgreSQL, by the same usual name. The sandbox stops, starts and deletes none
 * but its own, which it recognises by this file.
 */
const mark = 'paywright-sandbox';

/** Where a sandbox has its socket: beside its data, or in the temporary folder when that path is too long. */
const ownSocketDir = String.raw`/(postgres-socket|paywright-(\d+-)?[0-9a-f]{16})(/s)?`;

/** Sandboxes from before the mark are recognised by how they were started, which PostgreSQL writes down at each start. */
const ownStart = new RegExp(`"unix_socket_directories=.*${ownSocketDir}"`);

/** What PostgreSQL makes in a data folder while it is set up, and what we add. */
const ownNames = new RegExp(`^(PG_VERSION|base|global|pg_.+|postgresql(\\.auto)?\\.conf|postmaster\\.\\w+|${mark})$`);

/** For a PostgreSQL that was just set up. initdb itself wants an empty folder. */
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

/** Before anything in the folder is changed, and any process stopped. */
export function refuseOthersPostgres(data: string): void {
  if (!existsSync(data)) return;
  if (!isOwnPostgres(data)) {
    throw new Refusal(
      `${data} was not made by a sandbox. It is left as it is: set another DATA_DIR, or delete it yourself.`,
    );
  }
  // Someone may have started a sandbox's PostgreSQL by other means. The fifth line of its lock says where its socket is.
  const [pid, , , , socketDir = ''] = readIfThere(join(data, 'postmaster.pid')).split('\n');
  if (socketDir === '' || new RegExp(`${ownSocketDir}$`).test(socketDir)) return;
  if (commandOf(Number(pid)) === undefined) return;
  throw new Refusal(
    `A PostgreSQL that the sandbox did not start (process ${pid}) runs in ${data}: stop it, then try again.`,
  );
}

/**
 * The folders of set-ups and deletions that were interrupted. The name alone says little: someone may keep notes or another PostgreSQL
 * under such a name. One that was ever started has to be a sandbox's.
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
