import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second for every program that asks. */
const ticksPerSecond = 100;

/** CPU seconds of one process, or of a process and all that it has started, also those that ended since. */
export function cpuSeconds(pid: number, of: 'itself' | 'family' = 'itself'): number {
  const { own, ended } = readStat(pid);
  return of === 'itself' ? own : own + ended + childrenOf(pid).reduce((sum, child) => sum + ownSeconds(child), 0);
}

/** What `work` costs in CPU: microseconds for each thing it says it has done. */
export async function cpuPerThing<Done>(
  who: { readonly server?: number | undefined; readonly postgres?: number | undefined },
  work: () => Promise<Done>,
  count: (done: Done) => number,
): Promise<{ done: Done; cpu: CpuPerThing }> {
  const spent = () => ({
    server: who.server === undefined ? 0 : cpuSeconds(who.server),
    postgres: who.postgres === undefined ? 0 : cpuSeconds(who.postgres, 'family'),
  });
  const before = spent();
  const done = await work();
  const after = spent();
  const each = (seconds: number) => (seconds * 1e6) / Math.max(1, count(done));
  return {
    done,
    cpu: { serverUs: each(after.server - before.server), postgresUs: each(after.postgres - before.postgres) },
  };
}

export interface CpuPerThing {
  readonly serverUs: number;
  readonly postgresUs: number;
}

export function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1]);
}

function readStat(pid: number): { own: number; ended: number } {
  const ticks = fieldsOf(pid).slice(11, 15).map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = ticks;
  return { own: (user + system) / ticksPerSecond, ended: (endedUser + endedSystem) / ticksPerSecond };
}

/** Of /proc/PID/stat all fields behind the name, which may hold spaces and brackets itself. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Zero for a process that has ended since it was listed: its parent counts it. */
function ownSeconds(pid: number): number {
  try {
    return readStat(pid).own;
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        return parentOf(candidate) === pid;
      } catch {
        return false; // It has ended since the folder was listed.
      }
    });
}
