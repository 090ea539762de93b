import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signalPostgres } from '../support/postgres-processes.ts';
import { freePort } from '../support/process.ts';
import { endProgram, startProgram } from './child.ts';
import { asPostgres, postgresBin } from './programs.ts';
import { type Relay, startRelay } from './relay.ts';

/** What Patroni may take: after `ttl` seconds without a word of the primary, another one is chosen. */
const patroniSettings = { ttl: 15, loop_wait: 2, retry_timeout: 5 };

/** A machine of the cluster: PostgreSQL under Patroni, and a member of etcd. */
export interface Machine {
  readonly name: string;
  readonly postgresPort: number;
  readonly patroniPort: number;
  /** Ends everything at once, as a power cut does. */
  kill(): Promise<void>;
  start(): void;
  /** Nothing of it runs until `resume`, and its connections stay open. */
  stop(): void;
  resume(): void;
  /** Its Patroni reaches no member of etcd until `heal`. */
  cut(): void;
  heal(): void;
  /** The end of what its programs have written. */
  log(): string;
}

/** Each machine names all members of etcd, so their ports are chosen first. */
export async function makeMachines(folder: string, count: number): Promise<readonly Machine[]> {
  const members: Member[] = [];
  for (let number = 1; number <= count; number++) {
    members.push({ name: `m${number}`, client: await freePort(), peer: await freePort() });
  }
  return Promise.all(members.map((own) => makeMachine({ folder, own, members })));
}

interface Member {
  readonly name: string;
  readonly client: number;
  readonly peer: number;
}

interface Place {
  readonly folder: string;
  readonly own: Member;
  readonly members: readonly Member[];
}

async function makeMachine({ folder, own, members }: Place): Promise<Machine> {
  const home = join(folder, own.name);
  mkdirSync(home, { mode: 0o777 });
  const data = join(home, 'postgres');
  const [postgresPort, patroniPort] = [await freePort(), await freePort()];
  const relays: Relay[] = [];
  for (const { client } of members) relays.push(await startRelay(client));
  const config = join(home, 'patroni.json');
  // YAML contains JSON.
  writeFileSync(config, JSON.stringify(patroniConfig({ home, data, postgresPort, patroniPort, own, relays }), null, 2));

  let children: ChildProcess[] = [];
  let again: NodeJS.Timeout | undefined;
  /** Like systemd: it ends by itself where etcd is not there yet. */
  function startPatroni(): void {
    const patroni = startProgram([...asPostgres, 'patroni', config], { log: join(home, 'patroni.log') });
    children[1] = patroni;
    patroni.once('exit', () => {
      if (children[1] === patroni) again = setTimeout(startPatroni, 500).unref();
    });
  }

  return {
    name: own.name,
    postgresPort,
    patroniPort,
    start() {
      children = [
        startProgram([...asPostgres, 'etcd', ...etcdOptions(own, members, join(home, 'etcd'))], {
          log: join(home, 'etcd.log'),
          // It insists on this where it was tested less.
          env: { ETCD_UNSUPPORTED_ARCH: process.arch },
        }),
      ];
      startPatroni();
    },
    async kill() {
      clearTimeout(again);
      const killed = children;
      children = [];
      for (const child of killed) child.kill('SIGKILL');
      signalPostgres(data, 'SIGKILL');
      await Promise.all(killed.map((child) => endProgram(child, 'SIGKILL')));
    },
    stop() {
      for (const child of children) child.kill('SIGSTOP');
      signalPostgres(data, 'SIGSTOP');
    },
    resume() {
      signalPostgres(data, 'SIGCONT');
      for (const child of children) child.kill('SIGCONT');
    },
    cut() {
      for (const relay of relays) relay.cut();
    },
    heal() {
      for (const relay of relays) relay.heal();
    },
    log: () =>
      ['etcd.log', 'patroni.log'].map((name) => `${own.name}, ${name}:\n${endOf(join(home, name))}`).join('\n'),
  };
}

/** Without what the probe asks twenty times a second. */
const endOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !/cluster_probe|read-only transaction|starting up/.test(line))
    .slice(-40)
    .join('\n');

function etcdOptions({ name, client, peer }: Member, members: readonly Member[], data: string): readonly string[] {
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const options = {
    name,
    'data-dir': data,
    'listen-client-urls': url(client),
    'advertise-client-urls': url(client),
    'listen-peer-urls': url(peer),
    'initial-advertise-peer-urls': url(peer),
    'initial-cluster': members.map((member) => `${member.name}=${url(member.peer)}`).join(','),
    'initial-cluster-state': 'new',
    'enable-v2': 'true',
    // Patient, because all machines are one.
    'heartbeat-interval': '250',
    'election-timeout': '2500',
    'log-level': 'error',
  };
  return Object.entries(options).map(([option, value]) => `--${option}=${value}`);
}

interface Patroni {
  readonly home: string;
  readonly data: string;
  readonly postgresPort: number;
  readonly patroniPort: number;
  readonly own: Member;
  readonly relays: readonly Relay[];
}

function patroniConfig({ home, data, postgresPort, patroniPort, own, relays }: Patroni) {
  const postgresAddress = `127.0.0.1:${postgresPort}`;
  const patroniAddress = `127.0.0.1:${patroniPort}`;
  const role = (username: string) => ({ username, password: 'of-this-run' });
  return {
    scope: 'paywright',
    name: own.name,
    restapi: { listen: patroniAddress, connect_address: patroniAddress },
    // Not `etcd3`: there Patroni 3.0 takes the lead without looking who has it, when it wakes up after a while.
    etcd: { hosts: relays.map(({ port }) => `127.0.0.1:${port}`), use_proxies: true },
    bootstrap: {
      dcs: {
        ...patroniSettings,
        maximum_lag_on_failover: 1_048_576,
        // What was acknowledged is on two machines, and nothing is acknowledged by one alone.
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 250,
            shared_buffers: '128MB',
            wal_keep_size: '512MB',
            // A standby that has lost its primary soon asks the next one, and only then that one may acknowledge.
            wal_retrieve_retry_interval: '1s',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { auth: 'trust' }, 'data-checksums'],
    },
    postgresql: {
      listen: postgresAddress,
      connect_address: postgresAddress,
      data_dir: data,
      bin_dir: postgresBin,
      pgpass: join(home, 'pgpass'),
      authentication: { superuser: role('postgres'), replication: role('replicator'), rewind: role('rewinder') },
      parameters: { unix_socket_directories: home },
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
  };
}
