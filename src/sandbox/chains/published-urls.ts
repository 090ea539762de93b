import type { ChainId } from '../../chains/chains.ts';
import type { Queryable } from '../../db/database.ts';

/** Whoever holds it runs the chains of this database. */
export const chainsLock = 4_028_405;

export type ChainUrls = ReadonlyMap<ChainId, string>;

export interface Published {
  /** Whether somebody runs the chains, or is about to. */
  readonly kept: boolean;
  /** Undefined until they are served. */
  readonly urls: ChainUrls | undefined;
}

/** Where the chains are served by whoever holds the lock at this moment. */
export async function findPublished(db: Queryable): Promise<Published> {
  const { rows } = await db.query<{ chain: ChainId | null; url: string | null }>(
    `SELECT chains.chain, chains.url
     FROM pg_locks LEFT JOIN sandbox.chains ON chains.served_by = pg_locks.pid
     WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = 0 AND objid::bigint = $1
       AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [chainsLock],
  );
  const urls = new Map(rows.flatMap(({ chain, url }) => (chain === null || url === null ? [] : [[chain, url]])));
  return { kept: rows.length > 0, urls: urls.size > 0 ? urls : undefined };
}

/** The attestation service is on the port of the chains, so whoever knows them knows it too. */
export function attestationUrlOf(urls: ChainUrls): string {
  const [url] = urls.values();
  if (url === undefined) throw new Error('no chain is served');
  return new URL(url).origin;
}
