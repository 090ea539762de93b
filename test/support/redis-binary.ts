import { spawnSync } from 'node:child_process';

/** Whether this machine has a Redis or Valkey server that a test can start. */
export const redisBinary = ['redis-server', 'valkey-server'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);
