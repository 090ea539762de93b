import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { cpuPerThing, parentOf } from './cpu.ts';
import type { LoadOrder, LoadReport, TransferAs } from './load-generator.ts';
import type { Measured } from './measure.ts';
import { benchSecret, type Person } from './people.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** What a process holds. */
export interface Resources {
  readonly sockets: number;
  readonly timers: number;
  readonly heapMb: number;
  /** How long its event loop was blocked at most since it was last asked. */
  readonly longestBlockMs: number;
}

export interface Server {
  readonly port: number;
  readonly pid: number;
  /** The main process of its PostgreSQL, if it has one. */
  readonly postgresPid?: number | undefined;
  /** Only of a server of ours. */
  resources(): Promise<Resources>;
  stop(): Promise<void>;
}

/** The service as an operator runs it, in a process of its own, with every check on. */
export async function startServer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const child = fork(here('./server-process.js'), {
    execArgv: process.env['BENCH_PROFILE'] ? ['--cpu-prof', '--cpu-prof-dir', process.env['BENCH_PROFILE']] : [],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      PAYWRIGHT_SECRET: benchSecret,
      PORT: '0',
      // Limits are counted, and never reached.
      RATE_LIMIT_FREE_PER_MINUTE: '1000000',
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000',
      ...settings,
    },
  });
  return { ...(await started(child)), postgresPid: await postmasterOf(databaseUrl) };
}

export async function startEmptyHandler(): Promise<Server> {
  return started(fork(here('./empty-handler.js')));
}

export async function started(child: ChildProcess): Promise<Server> {
  const { port } = await answerOf<{ port: number }>(child);
  return {
    port,
    pid: child.pid ?? 0,
    async resources() {
      child.send({});
      return answerOf<Resources>(child);
    },
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

let runs = 0;

interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly path: string;
  readonly people: readonly Pick<Person, 'key' | 'handle'>[];
  readonly everybodyOnce?: boolean;
  readonly method?: NonNullable<LoadOrder['method']>;
  readonly as?: TransferAs;
  /** Payment headers, each for one request. */
  readonly payments?: readonly string[];
}

export async function load(server: Server, { people, ...options }: LoadOptions): Promise<Measured> {
  const generator = fork(here('./load-generator.js'));
  const payers = people.map(({ key, handle }) => ({ key, handle }));
  const order: LoadOrder = { ...options, payers, port: server.port, runId: `${process.pid}-${++runs}` };
  const { done: report, cpu } = await cpuPerThing(
    { server: server.pid, postgres: server.postgresPid },
    async () => {
      generator.send(order);
      return answerOf<LoadReport>(generator);
    },
    ({ answers }) => answers,
  );
  if (report.failures > 0)
    throw new Error(`${report.failures} requests failed, the first with:\n${report.firstFailure}`);
  return { transfersPerSecond: Math.round(report.perSecond), p50Ms: report.p50Ms, p99Ms: report.p99Ms, cpu };
}

/** The main process of the PostgreSQL that serves this database, here on the same machine. */
export async function postmasterOf(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return postmaster;
}

/** The first message of a child process; an error when it ends without one. */
export async function answerOf<Message>(child: ChildProcess): Promise<Message> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process of the benchmark ended with ${code}`);
  });
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [Message];
  ended.catch(() => {});
  return message;
}

/** Memory of the server in MB every few seconds, while it is under load. */
export async function watchMemory(server: Server, seconds: number, underLoad: Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  const everySeconds = 5;
  for (let passed = 0; passed < seconds; passed += everySeconds) {
    await sleep(everySeconds * 1000);
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    samples.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024));
  }
  await underLoad;
  return samples;
}
