import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The programs of the oldest PostgreSQL that the service accepts, where packages put them. */
export const oldestPostgres = [
  '/usr/lib/postgresql/15/bin',
  '/usr/pgsql-15/bin',
  '/opt/homebrew/opt/postgresql@15/bin',
].find((folder) => existsSync(join(folder, 'postgres')));

/** Debian keeps it in a folder that is not on every user's path. */
export const pgbouncerBinary = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);
