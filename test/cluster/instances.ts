import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '../support/client.ts';
import { begin, freePort } from '../support/process.ts';
import { until } from '../support/until.ts';
import { startProgram } from './child.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Paywright in a process of its own, behind the balancer. */
export interface Instance {
  readonly name: string;
  readonly url: string;
  kill(): Promise<void>;
  start(release?: Release): Promise<void>;
  /** Ends it as a roll does, and starts another one in its place. Answers its exit code, or the signal that ended it. */
  restart(release: Release): Promise<Ending>;
  /** How it has ended although nobody ended it. */
  readonly crashes: readonly string[];
  /** What it has logged of a request. */
  logged(requestId: string): readonly string[];
}

export type Ending = Awaited<ReturnType<typeof begin>['ended']>;

/** A folder with a release of Paywright, and what it is started with. */
export interface Release {
  readonly folder?: string;
}

export interface Instances {
  /** Of the balancer. */
  readonly url: string;
  readonly all: readonly Instance[];
  /** Waits until they count the requests of one account together. */
  awaitSharedLimits(): Promise<void>;
  /** Runs a command of the release to its end. */
  run(args: readonly string[], release: Release): Promise<void>;
}

export interface InstancesOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly count: number;
}

export async function startInstances({ folder, env, count }: InstancesOptions): Promise<Instances> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // The demo shop is one for all, as every shop outside is.
  const dataDir = join(folder, 'data');
  const shared = { ...env, PUBLIC_URL: url, TRUSTED_PROXIES: '127.0.0.1', LOG_LEVEL: 'error' };
  const all: Instance[] = [];
  for (let number = 1; number <= count; number++) {
    const own = await freePort();
    all.push(makeInstance({ name: `i${number}`, port: own, dataDir, env: shared }));
  }
  // The first one prepares what all of them share.
  for (const instance of all) await instance.start();
  startBalancer({ folder, port, instances: all });
  await until('the balancer', () =>
    fetch(`${url}/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    all,
    async awaitSharedLimits() {
      await until('shared rate limits', () => shareLimits(url, all));
    },
    async run(args, release) {
      const command = begin(args, { dataDir, env: shared, ...withProgram(release) });
      const code = await command.ended;
      if (code !== 0) throw new Error(`paywright ${args.join(' ')} ended with ${code}:\n${command.output()}`);
    },
  };
}

/** Each request of a new account leaves one fewer, whichever instance it is sent to. An instance without Redis counts from the beginning. */
async function shareLimits(url: string, all: readonly Instance[]): Promise<boolean> {
  const { key } = await createClient(url).register();
  const left: number[] = [];
  for (const instance of all) {
    const { headers } = await createClient(instance.url).get('/circle/balance', key);
    left.push(Number(/;r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]));
  }
  return left.every((one, index) => one === (left[0] as number) - index);
}

interface Own {
  readonly name: string;
  readonly port: number;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
}

const withProgram = ({ folder }: Release) =>
  folder === undefined ? {} : { program: join(folder, 'bin/paywright.mjs') };

function makeInstance({ name, port, dataDir, env }: Own): Instance {
  const started: ReturnType<typeof begin>[] = [];
  const running = () => started.at(-1);
  const crashes: string[] = [];
  let isWanted = false;

  async function end(signal: NodeJS.Signals): Promise<Ending> {
    isWanted = false;
    running()?.child.kill(signal);
    return (await running()?.ended) ?? null;
  }

  const instance: Instance = {
    name,
    url: `http://127.0.0.1:${port}`,
    async start(release = {}) {
      const own = begin(['start'], { dataDir, env: { ...env, PORT: String(port) }, ...withProgram(release) });
      started.push(own);
      isWanted = true;
      void own.ended.then((code) => {
        if (isWanted && own === running()) crashes.push(`${name} ended with ${code}:\n${own.output().slice(-4_000)}`);
      });
      await Promise.race([
        until('an instance', async () => own.output().includes('Paywright is ready'), 180_000),
        own.ended.then(() => Promise.reject(new Error(`${name} did not start:\n${own.output()}`))),
      ]);
    },
    async kill() {
      await end('SIGKILL');
    },
    async restart(release) {
      const ending = await end('SIGTERM');
      await instance.start(release);
      return ending;
    },
    crashes,
    logged: (requestId) =>
      started.flatMap(({ output }) => output().split('\n')).filter((line) => line.includes(requestId)),
  };
  return instance;
}

interface Balancer {
  readonly folder: string;
  readonly port: number;
  readonly instances: readonly Instance[];
}

/** As `docs/scaling.md` advises: whoever is not ready gets nothing, and what was not sent is sent to another one. */
function startBalancer({ folder, port, instances }: Balancer): void {
  const config = join(folder, 'haproxy.cfg');
  const servers = instances.map(
    ({ name, url }) => `  server ${name} ${new URL(url).host} check inter 500ms fall 2 rise 1`,
  );
  const lines = [
    'global',
    '  maxconn 2000',
    'defaults',
    '  mode http',
    '  timeout connect 1s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  timeout check 2s',
    '  retries 3',
    '  option redispatch 1',
    '  option forwardfor',
    `frontend public`,
    `  bind 127.0.0.1:${port}`,
    '  default_backend instances',
    'backend instances',
    '  balance roundrobin',
    '  option httpchk GET /ready',
    '  http-check expect status 200',
    ...servers,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  startProgram(['haproxy', '-db', '-f', config], { log: join(folder, 'haproxy.log') });
}

/** The next release: this one and a migration that touches a busy table, as an installed package without sources. */
export function makeNextRelease(parent: string): Release {
  const folder = join(parent, 'next');
  mkdirSync(folder);
  for (const part of ['bin', 'scripts', 'packages', 'package.json', 'package-lock.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const part of ['src', 'sandbox'])
    cpSync(join(root, 'dist', part), join(folder, 'dist', part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const migrations = join(folder, 'dist/src/migrations');
  const number = readdirSync(migrations).filter((name) => name.endsWith('.sql')).length + 1;
  const sql = `-- serves_from: ${number - 1}\nALTER TABLE accounts ADD COLUMN next_release text;\n`;
  writeFileSync(join(migrations, `${String(number).padStart(3, '0')}_next_release.sql`), sql);
  return { folder };
}
