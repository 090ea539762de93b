import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { commandOf, endProcess } from '../../sandbox/data-dir.ts';
import { type Client, createClient, type TestAccount } from './client.ts';

/** What a process of ours needs to know of the machine, and nothing else of the environment that the tests run in. */
const surroundings = { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'] };

const bin = fileURLToPath(new URL('../../bin/paywright.mjs', import.meta.url));

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly client: Client;
  /** Everything it has written so far, both streams. */
  output(): string;
  /** Sends a signal and waits for the end; the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export interface LaunchOptions {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Put before the command, such as a program that becomes another user first. */
  readonly prefix?: readonly string[];
  /** That of another release. */
  readonly program?: string;
}

/** Starts `paywright start` as its own process and waits until it is ready. */
export async function launchServer(options: LaunchOptions): Promise<ServerProcess> {
  const port = await freePort();
  const { child, output, ended } = begin(['start'], {
    ...options,
    env: { PORT: String(port), ...unlimited, ...options.env },
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + 120_000;
  while (!output().includes('Paywright is ready')) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      throw new Error(`the server did not start:\n${output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    child,
    url,
    client: createClient(url),
    output,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs a command of `paywright` to its end. */
export async function runCommand(
  args: readonly string[],
  options: LaunchOptions,
): Promise<{ code: unknown; output: string }> {
  const { output, ended } = begin(args, options);
  return { code: await ended, output: output() };
}

const unlimited = {
  RATE_LIMIT_FREE_PER_MINUTE: '0',
  RATE_LIMIT_PRO_PER_MINUTE: '0',
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0',
};

/** The README's own command, in a process group of its own like a terminal's. */
export async function beginNpmStart(dataDir: string): Promise<{ npm: ChildProcess; url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...surroundings, DATA_DIR: dataDir, PORT: String(port) },
    stdio: 'ignore',
  });
  onTestFinished(() => void npm.kill('SIGKILL'));
  for (let waitedMs = 0; waitedMs < 120_000; waitedMs += 100) {
    if (
      await fetch(`${url}/ready`).then(
        (reply) => reply.ok,
        () => false,
      )
    )
      return { npm, url };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('npm start did not become ready');
}

export async function canSignIn({ client }: ServerProcess, { email, password, handle }: TestAccount): Promise<boolean> {
  const { body } = await client.post('/agent/register', { email, password });
  return body.agentHandle === handle;
}

/** Starts a command and returns at once. */
export function begin(args: readonly string[], { dataDir, env, prefix = [], program = bin }: LaunchOptions) {
  const [command = process.execPath, ...rest] = [...prefix, process.execPath, program, ...args];
  const child = spawn(command, rest, {
    env: { ...surroundings, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      written += chunk;
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  );
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => written, ended };
}

/** A folder of the test's own; whatever PostgreSQL is left running in it is ended with the test. */
export function temporaryDataDir(name = 'data'): string {
  const parent = mkdtempSync(join(tmpdir(), 'paywright-e2e-'));
  const dataDir = join(parent, name);
  onTestFinished(async () => {
    const pid = postgresPid(dataDir);
    if (pid !== undefined) await endProcess(pid, 'SIGQUIT', 10_000);
    rmSync(parent, { recursive: true, force: true });
  });
  return dataDir;
}

/** The process number of the PostgreSQL that runs in a folder now. */
export function postgresPid(dataDir: string): number | undefined {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  return commandOf(pid)?.includes(dataDir) ? pid : undefined;
}

/** A port that nobody listens on, below those that a machine gives to whoever connects to another: none of these takes it meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
