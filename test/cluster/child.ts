import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** A program that writes what it has to say to a file. It ends with the test. */
export function startProgram(
  [command = '', ...args]: readonly string[],
  { log, env = {} }: { readonly log: string; readonly env?: Readonly<Record<string, string>> },
): ChildProcess {
  const out = openSync(log, 'a');
  const child = spawn(command, args, {
    stdio: ['ignore', out, out],
    env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], ...env },
  });
  closeSync(out);
  onTestFinished(() => endProgram(child, 'SIGKILL'));
  return child;
}

/** Sends the signal and waits for the end. */
export function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}
