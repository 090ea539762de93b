import { createHash, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFolder, type Env, readPrivate, writePrivate } from './files.ts';
import { CliError } from './outcome.ts';

interface Whose {
  readonly env: Env;
  readonly warn: (line: string) => void;
  /** The service, and the account there. */
  readonly url: string;
  readonly handle: string;
}

/** What is remembered of one account at one service, whatever key was used. */
function folderOf({ env, url, handle }: Whose): string {
  return join(configFolder(env), 'accounts', digest(`${url} ${handle}`));
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

/** The secret that `listen` signs with. It stays the same, so that the receiver can be configured once. */
export function secretOf(whose: Whose): string {
  const file = join(folderOf(whose), 'webhook-secret.json');
  const known = readPrivate<{ readonly secret: string }>(file, whose.warn);
  if (known !== undefined) return known.secret;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  writePrivate(file, { secret });
  return secret;
}

interface Place {
  readonly forwardTo: string;
  /** The id of the last event that the receiver has acknowledged. */
  readonly cursor: string;
}

/** Where `listen` is with one receiver. Only one process has it at a time, or both would deliver the same events. */
export function openPlace(whose: Whose, forwardTo: string) {
  const name = join(folderOf(whose), `listen-${digest(forwardTo)}`);
  const file = `${name}.json`;
  mkdirSync(folderOf(whose), { recursive: true, mode: 0o700 });
  const release = lock(`${name}.lock`);
  return {
    /** Undefined where `listen` has not been yet. */
    cursor(): string | undefined {
      if (!existsSync(file)) return undefined;
      const cursor = readPrivate<Place | null>(file, () => {})?.cursor;
      if (typeof cursor === 'string' && /^evt_[0-9a-z]{26}$/.test(cursor)) return cursor;
      // To begin at now would skip what has happened since, and say nothing.
      const detail = `${file} is damaged, so it is not known which events were delivered. Look at "paywright history", then run the command again with --from-now.`;
      throw new CliError('error', { code: 'place_damaged', detail });
    },
    store(cursor: string): void {
      writePrivate(file, { forwardTo, cursor } satisfies Place);
    },
    release,
  };
}

/** A lock of a process that was killed is taken over. */
function lock(file: string): () => void {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, String(process.pid), { mode: 0o600 });
  try {
    while (!linkIfFree(mine, file)) {
      const holder = Number(readIfThere(file));
      if (isRunning(holder)) {
        const detail = `Another "paywright listen" (process ${holder}) delivers to this URL already. If that process is something else, delete ${file}.`;
        throw new CliError('error', { code: 'already_listening', detail });
      }
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return () => rmSync(file, { force: true });
}

/** A link is made with its content or not at all. */
function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
