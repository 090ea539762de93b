import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The command line of a living process; undefined when there is none, or only the shell of one that has ended. */
export function commandOf(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
    }
    // A process that was never waited for (a zombie) has an empty command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Tells a process from a later one that was given the same number. */
export function identityOf(pid: number): string | undefined {
  const command = commandOf(pid);
  return command === undefined ? undefined : `${startOf(pid)} ${command}`;
}

function startOf(pid: number): string {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  }
  // The program's name stands in brackets and may hold blanks: count the fields after it. The 22nd is the start time.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** Sends the signal and waits until the process is gone; false when it is still there after the time given. */
export async function endProcess(pid: number, signal: NodeJS.Signals, timeoutMs: number): Promise<boolean> {
  try {
    process.kill(pid, signal);
  } catch {
    return true;
  }
  const deadline = performance.now() + timeoutMs;
  while (commandOf(pid) !== undefined) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}
