import { createHash } from 'node:crypto';
import { join } from 'node:path';

export interface DataPlace {
  readonly dataDir: string;
  /** Set if the operator runs PostgreSQL. */
  readonly databaseUrl: string | undefined;
}

/** A shop belongs to the ledger that pays it, so each database in a shared folder has its own shop. */
export function shopsDataDir({ dataDir, databaseUrl }: DataPlace): string {
  if (databaseUrl === undefined) return dataDir;
  const { host, pathname } = new URL(databaseUrl);
  return join(dataDir, 'databases', createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 16));
}
