import type { Queryable } from '../../src/kernel/db/database.ts';
import { holdersOf } from '../../src/kernel/db/locks.ts';
import type { ChainId } from '../../src/money/catalogue.ts';

export type ChainUrls = ReadonlyMap<ChainId, string>;

export interface Published {
  /** Whether a process runs the chains or is about to. */
  readonly kept: boolean;
  /** Undefined until they are served. */
  readonly urls: ChainUrls | undefined;
}

/** The URLs of the process that currently holds the lock. */
export async function findPublished(db: Queryable): Promise<Published> {
  const keepers = await holdersOf(db, 'sandboxChains');
  const { rows } = await db.query<{ chain: ChainId; url: string | null }>(
    'SELECT chain, url FROM sandbox.chains WHERE served_by = ANY ($1)',
    [keepers],
  );
  const urls = new Map(rows.flatMap(({ chain, url }) => (url === null ? [] : [[chain, url]])));
  return { kept: keepers.length > 0, urls: urls.size > 0 ? urls : undefined };
}

/** The attestation service shares the port of the chains. */
export function attestationUrlOf(urls: ChainUrls): string {
  const [url] = urls.values();
  if (url === undefined) throw new Error('no chain is served');
  return new URL(url).origin;
}
