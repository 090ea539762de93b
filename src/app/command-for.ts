import { resolve } from 'node:path';

/** A command as the operator types it for this folder, with DATA_DIR where the folder is not the usual one. */
export function commandFor(dataDir: string, command: string): string {
  if (dataDir === resolve('.paywright')) return command;
  const word = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`;
  return `DATA_DIR=${word} ${command}`;
}
