// Ends what a test run has started, also when the run itself could not: workers, servers, PostgreSQL, Redis, browsers.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from './prepare.mjs';

const patienceMs = 10_000;

/**
 * Ends every process of the run. `leader` is the process whose group the run is in; `folder` is the run's temporary folder,
 * which names processes that have left the group and lost their parent, such as a PostgreSQL that outlived its server.
 */
export async function endProcesses({ leader, folder }) {
  const found = stopAll({ leader, folder });
  if (found.size === 0) return;
  // PostgreSQL gives back its shared memory when it is asked to end at once, and not when it is killed.
  for (const [pid, { command }] of found) signal(pid, isPostgres(command) ? 'SIGQUIT' : 'SIGKILL');
  for (const pid of found.keys()) signal(pid, 'SIGCONT');
  // A process id may belong to another process by now, so the start is compared each time.
  const alive = () => [...found].filter(([pid, { start }]) => startOf(pid) === start).map(([pid]) => pid);
  const began = performance.now();
  for (let left = alive(); left.length > 0; left = alive()) {
    const waitedMs = performance.now() - began;
    if (waitedMs > patienceMs) for (const pid of left) signal(pid, 'SIGKILL');
    if (waitedMs > 2 * patienceMs) throw new Refusal(`These processes of the run cannot be ended: ${left.join(', ')}.`);
    await sleep(20);
  }
}

/** A file system that a test has mounted has to go before its folder can. */
export function removeFolder(folder) {
  for (const mounted of mountsBelow(folder)) {
    try {
      execFileSync('umount', [mounted], { stdio: 'ignore' });
    } catch {}
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Stops each process before looking for the next ones, so that none of them starts another meanwhile. */
function stopAll({ leader, folder }) {
  const stopped = new Map();
  for (;;) {
    const all = listProcesses();
    const ours = (pid, { parent, group, command }) =>
      pid === leader || group === leader || stopped.has(parent) || parent === leader || isOrphan(command, folder);
    const fresh = [...all].filter(([pid, entry]) => pid !== process.pid && !stopped.has(pid) && ours(pid, entry));
    if (fresh.length === 0) return stopped;
    for (const [pid, entry] of fresh) {
      signal(pid, 'SIGSTOP');
      stopped.set(pid, entry);
    }
  }
}

/** Something of ours that works in the run's folder. What a person looks at that folder with is left alone. */
function isOrphan(command, folder) {
  return (
    /^\S*(?:postgres|initdb|node|chrom\w*|headless_shell|redis-server|valkey-server)(?: |$)/.test(command) &&
    command.includes(folder)
  );
}

function isPostgres(command) {
  return /\/bin\/postgres(?: |$)/.test(command);
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended, or is another user's.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}

function listProcesses() {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return new Map(pids.flatMap((pid) => readProcess(Number(pid)) ?? []));
  }
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,lstart=,command='], { encoding: 'utf8' }).split('\n');
  const pattern = /^ *(\d+) +(\d+) +(\d+) +((?:\S+ +){5})(.*)$/;
  return new Map(
    lines.flatMap((line) => {
      const [, pid, parent, group, start, command] = pattern.exec(line) ?? [];
      if (pid === undefined) return [];
      return [[Number(pid), { parent: Number(parent), group: Number(group), start, command }]];
    }),
  );
}

/** A process that is already dead and waits for its parent to notice is none any more. */
function readProcess(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return [[pid, { parent: Number(parent), group: Number(group), start: rest[16], command }]];
  } catch {
    return undefined;
  }
}

/** When a process was started, or undefined if there is none: process ids are used again. */
function startOf(pid) {
  if (process.platform === 'linux') return readProcess(pid)?.[0][1].start;
  return listProcesses().get(pid)?.start;
}

function mountsBelow(folder) {
  if (process.platform !== 'linux') return [];
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  return mounts.filter((path) => path.startsWith(`${folder}/`)).toReversed();
}
