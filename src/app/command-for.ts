import { resolve } from 'node:path';

/** A command as it is to be typed, so that it is about this folder and not about the usual one. */
export function commandFor(dataDir: string, command: string): string {
  if (dataDir === resolve('.paywright')) return command;
  const word = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`;
  return `DATA_DIR=${word} ${command}`;
}
