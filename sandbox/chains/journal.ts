import type pg from 'pg';
import type { Queryable } from '../../src/kernel/db/database.ts';
import type { ChainId } from '../../src/money/catalogue.ts';
import { createGatherer } from '../../src/x402/sell/gather.ts';

/** One call that changes a chain, recorded so that it can be replayed at the next start. */
export interface JournalEntry {
  readonly method: string;
  readonly params: readonly unknown[];
  /** The timestamp of the block that it mines; undefined if it mines none. */
  readonly blockTime: number | undefined;
}

/** The ordered log of all changes. A chain is its genesis block plus its journal. */
export interface Journal {
  /** Resolves when the entries are committed, all or none. */
  append(chain: ChainId, entries: readonly JournalEntry[]): Promise<void>;
}

interface NumberedEntry {
  readonly chain: ChainId;
  readonly seq: number;
  readonly entry: JournalEntry;
}

/**
 * Writes through the session that holds the chains' lock, so that no process writes without it. While one statement commits, new
 * entries gather for the next.
 */
export function createJournal(client: pg.Client): Journal & { startAt(chain: ChainId, length: number): void } {
  const next = new Map<ChainId, number>();
  const write = createGatherer({
    atOnce: Number.POSITIVE_INFINITY,
    mostInFlight: 1,
    async run(groups: readonly (readonly NumberedEntry[])[]): Promise<undefined[]> {
      try {
        await insert(client, groups.flat());
      } catch (error) {
        // The outcome may be unknown. Ending the session stops the chains, and they restart from the journal.
        void client.end().catch(() => {});
        throw error;
      }
      return [];
    },
  });

  return {
    startAt(chain, length) {
      next.set(chain, length);
    },
    append(chain, entries) {
      const from = next.get(chain);
      if (from === undefined) throw new Error(`the journal of ${chain} has not been read`);
      next.set(chain, from + entries.length);
      return write(entries.map((entry, index) => ({ chain, seq: from + index, entry })));
    },
  };
}

async function insert(client: pg.Client, rows: readonly NumberedEntry[]): Promise<void> {
  await client.query(
    `INSERT INTO sandbox.chain_journal (chain, seq, block_time, method, params)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])`,
    [
      rows.map(({ chain }) => chain),
      rows.map(({ seq }) => seq),
      rows.map(({ entry }) => entry.blockTime ?? null),
      rows.map(({ entry }) => entry.method),
      rows.map(({ entry }) => JSON.stringify(entry.params)),
    ],
  );
}

/** Bounds the memory of a replay. */
const pageSize = 1_000;

export async function* readJournal(db: Queryable, chain: ChainId): AsyncGenerator<readonly JournalEntry[]> {
  for (let from = 0; ; from += pageSize) {
    const { rows } = await db.query<{ method: string; params: string; blockTime: number | null }>(
      `SELECT method, params, block_time::float8 FROM sandbox.chain_journal
       WHERE chain = $1 AND seq >= $2 AND seq < $2 + $3::int ORDER BY seq`,
      [chain, from, pageSize],
    );
    yield rows.map(({ method, params, blockTime }) => ({
      method,
      params: JSON.parse(params) as unknown[],
      blockTime: blockTime ?? undefined,
    }));
    if (rows.length < pageSize) return;
  }
}
