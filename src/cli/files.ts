import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

/** Where the command keeps what it must remember, for this user only. */
export function configFolder(env: Env): string {
  const given = env['XDG_CONFIG_HOME'];
  // The XDG specification ignores relative paths.
  return join(given?.startsWith('/') ? given : join(homedir(), '.config'), 'paywright');
}

/** Undefined if the file does not exist or is not JSON. A file that others could read is closed to them, and `warn` is told. */
export function readPrivate<Content>(file: string, warn: (line: string) => void): Content | undefined {
  let text: string;
  try {
    closeToOthers(file, warn);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Content;
  } catch {
    warn(`${file} is damaged and is ignored.`);
    return undefined;
  }
}

function closeToOthers(file: string, warn: (line: string) => void): void {
  if (process.platform === 'win32' || (statSync(file).mode & 0o077) === 0) return;
  chmodSync(file, 0o600);
  warn(
    `${file} could be read by other users of this machine. It is closed now; replace what it holds if somebody has read it.`,
  );
}

/** After a crash or power cut the file has the old content or the new one. It is on the disk when this returns. */
export function writePrivate(file: string, content: unknown): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = openSync(fresh, 'wx', 0o600);
    try {
      writeSync(handle, `${JSON.stringify(content, null, 2)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
  syncFolder(folder);
}

/** A rename lasts only once its folder is on the disk. Windows cannot open folders, and does without. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
