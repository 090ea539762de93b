import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../src/kernel/refusal.ts';

/** PostgreSQL writes about 60 MB when it is set up; with less space it would fail halfway with a worse message. */
const leastFreeBytes = 150 * 1024 * 1024;

/** Creates the folder for the sandbox's state, accessible only to its owner. */
export function openDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
    refuseUnlessFolder(dataDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new Refusal(`DATA_DIR is ${dataDir}, which is not a folder.`);
    if (code === 'ENOENT') throw new Refusal(`DATA_DIR is ${dataDir}, which cannot be created.`);
    throw error;
  }
  const { bavail, bsize } = statfsSync(dataDir);
  if (bavail * bsize < leastFreeBytes) {
    const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
    throw new Refusal(`The disk is full: ${dataDir} has ${freeMb} MB left and Paywright needs 150 MB to start.`);
  }
}

export function refuseUnlessFolder(dataDir: string): void {
  if (!statSync(dataDir).isDirectory()) throw new Refusal(`DATA_DIR is ${dataDir}, which is not a folder.`);
}

/** Level by level, because Node's recursive mkdir never returns on some file systems that refuse it. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/**
 * Locks the folder for one server. The lock records the process id and its start, so that a stale lock of a killed server is
 * recognized even if its process id was reused.
 */
export function lockDataDir(dataDir: string): { release(): void } {
  const file = join(dataDir, 'server.lock');
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, identity: identityOf(process.pid) }), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (linkIfFree(mine, file)) return { release: () => rmSync(file, { force: true }) };
      const holder = lockHolder(dataDir);
      if (holder !== undefined) {
        throw new Refusal(
          `Another Paywright (process ${holder}) is using ${dataDir}: stop it, or set another DATA_DIR.`,
        );
      }
      rmSync(file, { force: true });
    }
    throw new Refusal(`Another Paywright is starting in ${dataDir} at this moment.`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link appears with its content or not at all, so no process reads a partial lock. */
function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

export function lockHolder(dataDir: string): number | undefined {
  try {
    const { pid, identity } = JSON.parse(readFileSync(join(dataDir, 'server.lock'), 'utf8')) as {
      pid: number;
      identity: string;
    };
    return identityOf(pid) === identity ? pid : undefined;
  } catch {
    return undefined;
  }
}

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
function identityOf(pid: number): string | undefined {
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
