import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { until } from '../support/until.ts';
import { type Machine, makeMachines } from './machines.ts';

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

/** PostgreSQL on three machines: a primary, a synchronous and an asynchronous standby. */
export interface PostgresCluster {
  readonly machines: readonly Machine[];
  /** With all hosts, as an operator writes it. */
  readonly url: string;
  /** The machine that leads, by the word of Patroni on it. */
  leader(): Promise<Machine | undefined>;
  /** Waits until a machine leads and its PostgreSQL accepts writes. */
  awaitLeader(other?: Machine): Promise<Machine>;
  /** Waits until it is complete: one is synchronous, and both standbys follow the primary. */
  awaitHealthy(): Promise<void>;
  /** Waits until the look finds something. The error contains what the machines have logged. */
  awaitState<State>(what: string, look: () => Promise<State | undefined | false>): Promise<State>;
  end(): Promise<void>;
}

export async function startPostgresCluster(parent: string): Promise<PostgresCluster> {
  const folder = join(parent, 'machines');
  mkdirSync(folder);
  // PostgreSQL and Patroni run as another user.
  chmodSync(folder, 0o777);
  const machines = await makeMachines(folder, 3);
  for (const machine of machines) {
    chmodSync(join(folder, machine.name), 0o777);
    machine.start();
  }
  const hosts = machines.map(({ postgresPort }) => `127.0.0.1:${postgresPort}`).join(',');

  const leads = async ({ patroniPort }: Machine) => (await ask(patroniPort, '/primary')) !== undefined;
  async function leader(): Promise<Machine | undefined> {
    const answers = await Promise.all(machines.map(leads));
    return machines.find((_, index) => answers[index]);
  }

  const awaitState: PostgresCluster['awaitState'] = (what, look) =>
    until(what, look, 180_000).catch((error: Error) => {
      throw new Error([error.message, ...machines.map((machine) => machine.log())].join('\n'));
    });

  async function awaitLeader(other?: Machine): Promise<Machine> {
    return awaitState('a primary', async () => {
      const found = await leader();
      return found !== undefined && found !== other && (await acceptsWrites(found)) && found;
    });
  }

  async function members(): Promise<readonly Member[]> {
    const answers = await Promise.all(machines.map(({ patroniPort }) => ask(patroniPort, '/cluster')));
    return answers.find((answer) => answer !== undefined)?.members ?? [];
  }

  async function awaitHealthy(): Promise<void> {
    await awaitState('the whole cluster', async () => {
      const found = await members();
      const has = (role: string) => found.filter((one) => one.role === role && one.state === 'running').length === 1;
      if (found.length !== 3 || !has('leader') || !has('sync_standby') || !has('replica')) return false;
      // A machine that has just woken up is still listed as it was before, and the next loss must not meet it while it is being rewound.
      const onOneTimeline = new Set(found.map(({ timeline }) => timeline)).size === 1;
      const leading = await leader();
      return onOneTimeline && leading !== undefined && (await areFollowing(leading));
    });
  }

  const first = await awaitLeader();
  await query(first, 'postgres', 'CREATE ROLE paywright LOGIN');
  await query(first, 'postgres', 'CREATE DATABASE paywright OWNER paywright');
  await awaitHealthy();
  return {
    machines,
    url: `postgres://paywright@${hosts}/paywright?target_session_attrs=read-write&sslmode=disable`,
    leader,
    awaitLeader,
    awaitHealthy,
    awaitState,
    end: async () => {
      await Promise.all(machines.map((machine) => machine.kill()));
    },
  };
}

/** Undefined unless it answers 200 in time. */
// biome-ignore lint/suspicious/noExplicitAny: Patroni's own form
async function ask(port: number, path: string): Promise<any> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1_000) });
    return reply.status === 200 ? await reply.json() : undefined;
  } catch {
    return undefined;
  }
}

async function acceptsWrites(machine: Machine): Promise<boolean> {
  try {
    const { rows } = await query(machine, 'postgres', 'SELECT pg_is_in_recovery() AS recovers');
    return rows[0]?.recovers === false;
  } catch {
    return false;
  }
}

/** Whether both standbys have replayed what this primary has written, but for the last moment. */
async function areFollowing(machine: Machine): Promise<boolean> {
  try {
    const { rows } = await query(
      machine,
      'postgres',
      `SELECT count(*)::int AS count FROM pg_stat_replication
        WHERE state = 'streaming' AND pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) < 1048576`,
    );
    return rows[0]?.count === 2;
  } catch {
    return false;
  }
}

async function query({ postgresPort }: Machine, database: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: `postgres://postgres@127.0.0.1:${postgresPort}/${database}`,
    connectionTimeoutMillis: 2_000,
    query_timeout: 5_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.query(text);
  } finally {
    client.end().catch(() => {});
  }
}
