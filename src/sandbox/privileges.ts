import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Refusal } from '../refusal.ts';

const run = promisify(execFile);

/** The unprivileged user of every Unix: it exists in /etc/passwd, which initdb insists on. */
const nobody = 65_534;

/** How to start a program that refuses to run as root: the words to put before it, and who must own its files. */
export interface Demotion {
  readonly prefix: readonly string[];
  readonly owner: number;
}

const ordinaryUser: Demotion = { prefix: [], owner: process.getuid?.() ?? 0 };

/**
 * In a user namespace root is seen as `nobody` by the program, and is still the owner of its files to the kernel. So
 * everything stays owned by root and a folder that only root may enter is no obstacle.
 */
const namespaced: Demotion = { prefix: ['unshare', '--user', `--map-user=${nobody}`, '--'], owner: 0 };

/**
 * Where namespaces are forbidden (most containers): really become `nobody`, but keep the one capability that lets the
 * program reach its files through folders that are closed to others.
 */
const capable: Demotion = {
  prefix: [
    'setpriv',
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--',
  ],
  owner: nobody,
};

export async function chooseDemotion(candidates: readonly Demotion[] = [namespaced, capable]): Promise<Demotion> {
  if (process.getuid?.() !== 0) return ordinaryUser;
  for (const candidate of candidates) {
    if (await works(candidate)) return candidate;
  }
  throw new Refusal(
    'PostgreSQL does not run as root and this machine has no way to step down: start as an ordinary user or set DATABASE_URL.',
  );
}

async function works({ prefix: [command, ...args] }: Demotion): Promise<boolean> {
  if (command === undefined) return true;
  return run(command, [...args, 'true']).then(
    () => true,
    () => false,
  );
}

export const demotions = { namespaced, capable };
