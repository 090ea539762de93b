import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { oneOfMany } from '../support/matrix.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Found {
  readonly parent: number;
  readonly group: number;
  readonly state: string;
  readonly command: string;
}

/** Every process of this machine that lives. A dead one that its parent has not noticed yet is none. */
function processes(): Found[] {
  const all = process.platform === 'linux' ? fromProc() : fromPs();
  return all.filter(({ state }) => !/^[ZX]/.test(state));
}

function fromProc(): Found[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ parent: Number(parent), group: Number(group), state, command }];
    } catch {
      // It has ended since the folder was listed.
      return [];
    }
  });
}

function fromPs(): Found[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'ppid=,pgid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, parent, group, state = '', command] = /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ parent: Number(parent), group: Number(group), state, command }];
  });
}

/** Runs a test file with a folder of its own for everything temporary, as `npm test` does. */
function beginRun(args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  // A terminal gives a group of its own to what it runs. Nothing of this run's own settings is passed on.
  const runner = spawn(process.execPath, [join(root, 'scripts/test.mjs'), ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [runner.stdout, runner.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(runner, 'exit') as Promise<[code: number | null, signal: string | null]>;
  onTestFinished(async () => {
    if (runner.exitCode === null && runner.signalCode === null) runner.kill('SIGTERM');
    await ended;
  });
  const pid = runner.pid ?? 0;
  const groups = new Set([pid]);
  return {
    pid,
    folder,
    ended,
    output: () => output,
    /** What is alive of the run: in a group of its processes, or named after its folder. */
    alive(): Found[] {
      if (runner.exitCode !== null && groups.size === 1) throw new Error(`the run is over:\n${output}`);
      const all = processes();
      for (const { parent, group } of all) if (parent === pid) groups.add(group);
      return all.filter(({ group, command }) => groups.has(group) || command.includes(folder));
    },
  };
}

const server = /\/bin\/postgres .*-D \S*\/paywright-e2e-/;
const own = /\/bin\/postgres .*-D /;

const ways = [
  // The run's own PostgreSQL is there, and its first test is about to begin.
  { how: 'SIGTERM', up: own, code: 143, send: (pid: number) => process.kill(pid, 'SIGTERM') },
  // A test has started a server, and that its PostgreSQL: the runner is not the parent of any of them.
  { how: 'Ctrl-C', up: server, code: 130, send: (pid: number) => process.kill(-pid, 'SIGINT') },
];

for (const { how, up, code, send } of ways)
  test(
    `a run that ${how} interrupts leaves no process and no file`,
    oneOfMany({ isRepresentative: false }),
    async () => {
      const run = beginRun(['test/e2e/start.matrix.test.ts', '-t', 'serves, remembers across a clean stop']);
      await until('PostgreSQL to be up', async () => run.alive().some(({ command }) => up.test(command)), 240_000);
      expect(run.alive().length).toBeGreaterThan(2);
      send(run.pid);
      expect(await run.ended).toEqual([code, null]);
      expect(run.output(), 'it has not come to its own end').not.toContain('Duration');
      expect(run.alive()).toEqual([]);
      expect(readdirSync(run.folder)).toEqual([]);
    },
  );
