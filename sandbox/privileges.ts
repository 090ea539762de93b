import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';
import { Refusal } from '../src/kernel/refusal.ts';

const run = promisify(execFile);

/** The unprivileged user that /etc/passwd has everywhere; initdb insists on an entry. */
const nobody = 65_534;

/** How to start a program that refuses to run as root: a command prefix, and the owner that its files need. */
export interface Demotion {
  readonly prefix: readonly string[];
  readonly owner: number;
}

const asIAm: Demotion = { prefix: [], owner: process.getuid?.() ?? 0 };

/**
 * In a user namespace the program sees itself as `nobody`, while the kernel still treats it as the owner of our files. So no file
 * changes its owner, and private folders stay accessible.
 */
const namespaced: Demotion = { prefix: ['unshare', '--user', `--map-user=${nobody}`, '--'], owner: asIAm.owner };

/**
 * For containers without namespaces, or a folder of another user: switches to that user for good and drops all other
 * capabilities.
 */
function become(uid: number, capabilities: readonly string[] = []): Demotion {
  const kept = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  const user = `--reuid=${uid} --regid=${uid} --clear-groups --no-new-privs`;
  const rights = `--inh-caps=${kept} --ambient-caps=${kept} --bounding-set=${kept}`;
  return { prefix: `setpriv ${user} ${rights} --`.split(' '), owner: uid };
}

/**
 * A capability to reach its own files through closed folders. The first allows reading any folder but changing only its own
 * files. Many containers grant root only the second, which also allows writing.
 */
const reaches = ['dac_read_search', 'dac_override'] as const;

export interface DemotionQuestion {
  /** The folder that the program works in, and its owner. */
  readonly folder: string;
  readonly folderOwner: number;
  readonly program: string;
}

/** Tries each candidate and returns the first that runs the program and reaches its folder. */
export async function chooseDemotion(
  { folder, folderOwner, program }: DemotionQuestion,
  candidates: readonly Demotion[] = candidatesFor(folderOwner),
): Promise<Demotion> {
  for (const candidate of candidates) {
    const check = ['sh', '-c', 'cd "$1" && "$2" --version', 'sh', folder, program];
    const [command = 'sh', ...args] = [...candidate.prefix, ...check];
    try {
      await run(command, args, { cwd: '/' });
      return candidate;
    } catch {
      // The next one may work.
    }
  }
  throw new Refusal(
    'PostgreSQL does not run as root, and this machine offers no way to drop privileges. Start as an ordinary user, or set DATABASE_URL.',
  );
}

function candidatesFor(folderOwner: number): readonly Demotion[] {
  if (asIAm.owner !== 0) return hasName() ? [asIAm] : [namespaced];
  // A sandbox that a user created stays that user's.
  const reaching = (uid: number) => reaches.map((capability) => become(uid, [capability]));
  // Root's folders are closed to `nobody`, so a capability is needed.
  return folderOwner === 0 ? [namespaced, ...reaching(nobody)] : [become(folderOwner), ...reaching(folderOwner)];
}

/** Whether /etc/passwd has our uid; in a container it may not. */
function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

export const asNobody = become(nobody, ['dac_read_search']);
