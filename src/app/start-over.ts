import { ForeignSchema } from '../kernel/db/schema-version.ts';
import { Refusal } from '../kernel/refusal.ts';
import { commandFor } from './command-for.ts';
import type { Config } from './config.ts';

/** What the owner of a sandbox is told whose database no migration leads on from. A database of an operator's own is left to the operator. */
export function tellToStartOver(error: unknown, { mode, dataDir, databaseUrl }: Config): unknown {
  if (!(error instanceof ForeignSchema) || mode !== 'sandbox' || databaseUrl !== undefined) return error;
  return new Refusal(
    `The sandbox in ${dataDir} was made by another version of Paywright, and this one cannot go on with its database. Its money is play money: delete it with "${commandFor(dataDir, 'npx paywright reset')}", then start again. To keep it, set another DATA_DIR for this version.`,
  );
}
