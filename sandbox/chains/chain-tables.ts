import type { Database, Queryable } from '../../src/kernel/db/database.ts';
import { holdersOf, lockUntilCommit } from '../../src/kernel/db/locks.ts';
import type { ChainId } from '../../src/money/catalogue.ts';

export type ChainUrls = ReadonlyMap<ChainId, string>;

interface Published {
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

/** In the ledger's database, so that both are backed up, restored and deleted together. */
export async function createChainTables(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    // Prevents instances that start together from creating the same table concurrently.
    await lockUntilCommit(tx, 'sandboxChainTables');
    // If all tables exist, no CREATE privilege is needed.
    const { rows } = await tx.query(
      "SELECT FROM unnest(ARRAY['chains', 'chain_journal', 'mints']) t WHERE to_regclass('sandbox.' || t) IS NULL",
    );
    if (rows.length === 0) return;
    await tx.query('CREATE SCHEMA IF NOT EXISTS sandbox');
    await tx.query(`
      CREATE TABLE IF NOT EXISTS sandbox.chains (
        chain        text PRIMARY KEY,
        genesis_time bigint NOT NULL,
        -- Where it is served while the session with this process number holds the lock; and where it should be next.
        url          text,
        served_by    integer
      )`);
    await tx.query(`
      CREATE TABLE IF NOT EXISTS sandbox.chain_journal (
        chain      text NOT NULL,
        seq        bigint NOT NULL,
        block_time bigint,
        method     text NOT NULL,
        params     text NOT NULL,
        PRIMARY KEY (chain, seq)
      )`);
    await tx.query(`
      CREATE TABLE IF NOT EXISTS sandbox.mints (
        id         text PRIMARY KEY,
        chain      text NOT NULL,
        asset      text NOT NULL,
        recipient  text NOT NULL,
        atomic     numeric NOT NULL,
        nonce      bigint NOT NULL,
        raw        text NOT NULL,
        hash       text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (chain, nonce)
      )`);
  });
}
