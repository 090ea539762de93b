import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The command line of a running process; undefined if there is none or it is a zombie. */
export function commandOf(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
    }
    // A zombie has an empty command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Distinguishes a process from a later one with the same id. */
export function identityOf(pid: number): string | undefined {
  const command = commandOf(pid);
  return command === undefined ? undefined : `${startOf(pid)} ${command}`;
}

function startOf(pid: number): string {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  }
  // The program's name is in parentheses and may contain spaces, so fields are counted after it. The 22nd is the start time.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** Sends the signal and waits for the process to end. Returns false on timeout. */
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
