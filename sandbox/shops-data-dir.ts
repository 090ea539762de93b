import { createHash } from 'node:crypto';
import { join } from 'node:path';

export interface DataPlace {
  readonly dataDir: string;
  /** Of the operator's own PostgreSQL, if there is one. */
  readonly databaseUrl: string | undefined;
}

/** A shop belongs to the books that pay it: where several databases share a folder, each has a shop of its own. */
export function shopsDataDir({ dataDir, databaseUrl }: DataPlace): string {
  if (databaseUrl === undefined) return dataDir;
  const { host, pathname } = new URL(databaseUrl);
  return join(dataDir, 'databases', createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 16));
}
