import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Sends a signal to every process of the PostgreSQL that works in this folder, to the one that starts the others first. */
export function signalPostgres(data: string, name: NodeJS.Signals): void {
  const first = firstProcess(data);
  if (first === undefined) return;
  const others = name === 'SIGKILL' ? childrenOf(first) : [];
  signal(first, name);
  // A stopped one starts no others.
  for (const pid of [...others, ...childrenOf(first)]) signal(pid, name);
}

function firstProcess(data: string): number | undefined {
  const file = join(data, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  return readOf(pid, 'cmdline').includes(data) ? pid : undefined;
}

function childrenOf(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const stat = readOf(pid, 'stat');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
  });
}

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
