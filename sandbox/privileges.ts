import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import { Refusal } from '../src/kernel/refusal.ts';

const run = promisify(execFile);

/** The unprivileged user of every Unix: it exists in /etc/passwd, which initdb insists on. */
const nobody = 65_534;

/** How to start a program that refuses to run as root: the words to put before it, and who must own its files. */
export interface Demotion {
  readonly prefix: readonly string[];
  readonly owner: number;
}

const asIAm: Demotion = { prefix: [], owner: process.getuid?.() ?? 0 };

/**
 * In a user namespace we are seen as `nobody` by the program, and are still the owner of our files to the kernel. So
 * everything keeps its owner and a folder that only we may enter is no obstacle.
 */
const namespaced: Demotion = { prefix: ['unshare', '--user', `--map-user=${nobody}`, '--'], owner: asIAm.owner };

/**
 * Where namespaces are forbidden (most containers), or the folder is somebody else's: really become another user, who can
 * never get back what is given up here.
 */
function become(uid: number, capabilities: readonly string[] = []): Demotion {
  const kept = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  return {
    prefix: [
      'setpriv',
      `--reuid=${uid}`,
      `--regid=${uid}`,
      '--clear-groups',
      '--no-new-privs',
      `--inh-caps=${kept}`,
      `--ambient-caps=${kept}`,
      `--bounding-set=${kept}`,
      '--',
    ],
    owner: uid,
  };
}

/**
 * What it takes to reach its own files through folders that are closed to others. The first lets it enter and read any folder,
 * and still change nothing but what is its own. Many containers give root only the second, which lets it write as well.
 */
const reaches = ['dac_read_search', 'dac_override'] as const;

export interface DemotionQuestion {
  /** The folder that the program works in, and who it belongs to. */
  readonly folder: string;
  readonly folderOwner: number;
  readonly program: string;
}

/** Finds the first way in which the program really runs and really reaches its folder. */
export async function chooseDemotion(
  { folder, folderOwner, program }: DemotionQuestion,
  candidates: readonly Demotion[] = candidatesFor(folderOwner),
): Promise<Demotion> {
  for (const candidate of candidates) {
    const [command = 'sh', ...args] = [
      ...candidate.prefix,
      'sh',
      '-c',
      'cd "$1" && "$2" --version',
      'sh',
      folder,
      program,
    ];
    if (
      await run(command, args, { cwd: '/' }).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  }
  throw new Refusal(
    'PostgreSQL does not run as root and this machine has no way to step down: start as an ordinary user or set DATABASE_URL.',
  );
}

function candidatesFor(folderOwner: number): readonly Demotion[] {
  if (asIAm.owner !== 0) return hasName() ? [asIAm] : [namespaced];
  // A sandbox that a user began stays that user's.
  const reaching = (uid: number) => reaches.map((capability) => become(uid, [capability]));
  // What is root's is closed to everybody else called nobody as well, so that it can only be reached with a capability.
  return folderOwner === 0 ? [namespaced, ...reaching(nobody)] : [become(folderOwner), ...reaching(folderOwner)];
}

/** Whether /etc/passwd knows us. In a container one may run as any number. */
function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

export const asNobody = become(nobody, ['dac_read_search']);
