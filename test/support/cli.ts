import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/paywright.mjs', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Somebody who uses the command, with a configuration folder of their own. */
export function useCli() {
  const config = mkdtempSync(join(tmpdir(), 'paywright-cli-'));
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  });

  /** Starts a program and returns at once. */
  function begin(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], HOME: config, TMPDIR: process.env['TMPDIR'], XDG_CONFIG_HOME: config, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.push(child);
    const texts = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      texts.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      texts.stderr += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
    return { child, texts, ended };
  }

  return {
    config,
    begin,
    beginCommand: (args: readonly string[], env?: Readonly<Record<string, string>>) =>
      begin(process.execPath, [bin, ...args], env),
    /** Runs a command to its end. */
    async run(args: readonly string[], { env, stdin = '' }: RunOptions = {}): Promise<Ran> {
      const { child, texts, ended } = begin(process.execPath, [bin, ...args], env);
      child.stdin.end(stdin);
      const code = await ended;
      return { code, ...texts };
    },
  };
}
