import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../sandbox/postgres.ts';
import { asNobody, chooseDemotion } from '../../../sandbox/privileges.ts';

const nobody = 65_534;

/** Open to everybody, as a folder that somebody made by hand may be. */
function openFolder(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'paywright-pg-'));
  chmodSync(dataDir, 0o755);
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

const asAnotherNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all', '--'];
const canReach = (path: string) => spawnSync('setpriv', [...asAnotherNobody, 'test', '-e', path]).status === 0;

test('PostgreSQL without user namespaces is reached by nobody else, and may do little', {
  tags: ['root'],
}, async () => {
  const dataDir = openFolder();
  const postgres = await startEmbeddedPostgres({ dataDir, demotion: asNobody });
  onTestFinished(() => postgres.stop());
  const [socketDir = ''] = /[^@]+(?=\/paywright$)/.exec(decodeURIComponent(postgres.url)) ?? [];
  const socket = join(socketDir, '.s.PGSQL.5432');

  // Only its owner can enter, and even another program of the same user cannot come that far.
  expect(statSync(socketDir)).toMatchObject({ uid: nobody, mode: 0o40700 });
  expect(statSync(join(socketDir, '..'))).toMatchObject({ uid: 0, mode: 0o40700 });
  expect(statSync(socket).mode & 0o777).toBe(0o700);
  expect(canReach(dataDir)).toBe(true);
  expect(canReach(socket)).toBe(false);

  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query<{ addresses: string; sockets: string; pid: number }>(
    `SELECT current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets,
            pg_backend_pid() AS pid`,
  );
  expect(rows[0]).toMatchObject({ addresses: '', sockets: socketDir });

  const status = readFileSync(`/proc/${rows[0]?.pid}/status`, 'utf8');
  const field = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1];
  const readAndSearch = (1n << 2n).toString(16).padStart(16, '0');
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expect([name, field(name)]).toEqual([name, readAndSearch]);
  expect(field('NoNewPrivs')).toBe('1');
  // What is root's it cannot write.
  const target = join(dataDir, 'root-only');
  await expect(client.query(`COPY (SELECT 1) TO '${target}'`)).rejects.toThrow('Permission denied');
});

test('a folder that another nobody has put in the place of the socket’s is refused', { tags: ['root'] }, async () => {
  const deep = join(openFolder(), 'deep'.repeat(25));
  mkdirSync(deep, { mode: 0o755 });
  const postgres = await startEmbeddedPostgres({ dataDir: deep, demotion: asNobody });
  const [socketDir = ''] = /[^@]+(?=\/paywright$)/.exec(decodeURIComponent(postgres.url)) ?? [];
  await postgres.stop();
  const closed = join(socketDir, '..');
  onTestFinished(() => rmSync(closed, { recursive: true, force: true }));
  expect(closed.startsWith(tmpdir())).toBe(true);
  chownSync(closed, nobody, nobody);
  await expect(startEmbeddedPostgres({ dataDir: deep, demotion: asNobody })).rejects.toThrow('belongs to another user');
});

test('what belongs to a user needs no capability when it can be reached without one', { tags: ['root'] }, async () => {
  const dataDir = openFolder();
  chownSync(dataDir, nobody, nobody);
  const { prefix, owner } = await chooseDemotion({ folder: dataDir, folderOwner: nobody, program: '/bin/true' });
  expect(owner).toBe(nobody);
  expect(prefix).toContain('--ambient-caps=-all');
  const closed = join(openFolder(), 'closed');
  mkdirSync(join(closed, 'theirs'), { recursive: true });
  chmodSync(closed, 0o700);
  chownSync(join(closed, 'theirs'), nobody, nobody);
  const further = await chooseDemotion({ folder: join(closed, 'theirs'), folderOwner: nobody, program: '/bin/true' });
  expect(further.prefix).toContain('--ambient-caps=-all,+dac_read_search');
});
