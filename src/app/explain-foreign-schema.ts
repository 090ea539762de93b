import { resolve } from 'node:path';
import { ForeignSchema } from '../kernel/db/schema-version.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { ServiceSettings } from './settings.ts';

/**
 * Tells the owner of a sandbox to start over when no migration fits its database. In live mode the operator decides,
 * with a backup.
 */
export function explainForeignSchema(error: unknown, { mode, dataDir, databaseUrl }: ServiceSettings): unknown {
  if (!(error instanceof ForeignSchema) || mode !== 'sandbox') return error;
  const place = databaseUrl === undefined ? dataDir : 'the database that DATABASE_URL names';
  const way =
    databaseUrl === undefined
      ? `delete it with "${commandFor(dataDir, 'npx paywright reset')}", then start again. To keep it, set another DATA_DIR for this version.`
      : 'drop that database and create it again, then start. To keep it, name another database for this version.';
  return new Refusal(
    `The sandbox in ${place} was created by another version of Paywright, and this version cannot use its database. Its money is not real: ${way}`,
  );
}

/** A command as the operator types it for this folder, with DATA_DIR where the folder is not the usual one. */
export function commandFor(dataDir: string, command: string): string {
  if (dataDir === resolve('.paywright')) return command;
  const word = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`;
  return `DATA_DIR=${word} ${command}`;
}
