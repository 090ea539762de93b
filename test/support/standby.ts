import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../sandbox/postgres.ts';
import { signalPostgres } from './postgres-processes.ts';

/** The folder of the Unix socket, as a host in a URL. */
export const hostOf = (url: string) => /@([^/]+)\//.exec(url)?.[1] ?? '';

interface StandbyOptions {
  /** Runs on the primary before it is copied. */
  readonly prepare?: (url: string) => Promise<void>;
  readonly settings?: Readonly<Record<string, string>>;
}

type Server = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

export interface Pair {
  readonly primary: Server;
  /** The one that was started last. */
  readonly standby: Server;
  /** Starts the standby again, once it is stopped. */
  startStandby(): Promise<Server>;
  /** Starts the former primary as a standby that follows nobody. */
  startPrimaryAsStandby(): Promise<Server>;
  stop(): Promise<void>;
}

/** A primary, and a standby that streams from it. */
export async function startPair({ prepare, settings: more }: StandbyOptions = {}): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'pair-'));
  const [primaryDir, standbyDir] = [join(folder, 'a'), join(folder, 'b')];
  for (const dir of [primaryDir, standbyDir]) mkdirSync(dir);
  const settings = { shared_buffers: '16MB', max_connections: '120', ...more };
  const first = await startEmbeddedPostgres({ dataDir: primaryDir, settings });
  await prepare?.(first.url);
  await first.stop();
  cpSync(join(primaryDir, 'postgres'), join(standbyDir, 'postgres'), { recursive: true, preserveTimestamps: true });
  writeFileSync(join(standbyDir, 'postgres', 'standby.signal'), '');
  const servers: Server[] = [];
  const start = async (dataDir: string, own: Readonly<Record<string, string>> = {}) => {
    const server = await startEmbeddedPostgres({ dataDir, settings: { ...settings, ...own } });
    servers.push(server);
    return server;
  };
  const primary = await start(primaryDir);
  const primary_conninfo = `host=${decodeURIComponent(hostOf(primary.url))} user=paywright`;
  const startStandby = async () => {
    standby = await start(standbyDir, { primary_conninfo });
    return standby;
  };
  let standby = await start(standbyDir, { primary_conninfo });
  return {
    primary,
    get standby() {
      return standby;
    },
    startStandby,
    startPrimaryAsStandby() {
      writeFileSync(join(primaryDir, 'postgres', 'standby.signal'), '');
      return start(primaryDir);
    },
    async stop() {
      for (const server of servers.reverse()) await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks one server, on a connection of its own. */
export async function ask<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Stops every process of a server in its tracks. Returns what lets them go on. */
export async function freeze(url: string): Promise<() => void> {
  const [{ data_directory: folder = '' } = {}] = await ask<{ data_directory: string }>(url, 'SHOW data_directory');
  signalPostgres(folder, 'SIGSTOP');
  return () => signalPostgres(folder, 'SIGCONT');
}
