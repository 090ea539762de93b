import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const debian = '/usr/lib/postgresql';

/** Debian keeps the programs of each PostgreSQL in a folder of their own. */
export const postgresBin = existsSync(debian)
  ? readdirSync(debian)
      .map((version) => join(debian, version, 'bin'))
      .filter((folder) => existsSync(join(folder, 'postgres')))
      .at(-1)
  : undefined;

const others = ['patroni', 'etcd', 'haproxy', 'redis-server'];

/** Whether Debian's packages are here that the cluster is made of. */
export const clusterIsHere =
  postgresBin !== undefined && others.every((name) => spawnSync('which', [name], { stdio: 'ignore' }).status === 0);

/** PostgreSQL and Patroni do not run as root, but as the user whom Debian's package has made for them. */
export const asPostgres: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--'] : [];
