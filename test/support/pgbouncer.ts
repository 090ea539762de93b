import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { chooseDemotion } from '../../sandbox/privileges.ts';
import { pgbouncerBinary } from './machine-postgres.ts';
import { freePort } from './process.ts';
import { until } from './until.ts';

/** Runs a PgBouncer before the database until the test ends, and returns the URL that leads through it. */
export async function startPgbouncer(
  databaseUrl: string,
  { poolMode, lines = [] }: { readonly poolMode: 'session' | 'transaction'; readonly lines?: readonly string[] },
): Promise<string> {
  const program = pgbouncerBinary ?? 'pgbouncer';
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), 'pgbouncer-'))];
  const target = new URL(databaseUrl);
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
* = host=${decodeURIComponent(target.hostname)} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 200
${lines.join('\n')}
`,
  );
  const { prefix } = await chooseDemotion({ folder, folderOwner: statSync(folder).uid, program });
  const [command = program, ...args] = [...prefix, program, '-q', config];
  const child = spawn(command, args, { cwd: '/', stdio: 'ignore' });
  onTestFinished(async () => {
    child.kill('SIGINT');
    setTimeout(() => child.kill('SIGTERM'), 1_000).unref();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`;
  await until('PgBouncer', () => answers(url));
  return url;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
