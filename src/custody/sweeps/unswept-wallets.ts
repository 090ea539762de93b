import type { Database } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** Changes that are counted in one commit. */
const changesPerCommit = 5_000;

/**
 * Brings `unswept_wallets` up to date: whoever writes deposits leaves a note of the wallets, and here they are counted again.
 * Writing the sum with the deposit would make whoever credits wait for whoever sweeps, and the other way round.
 */
export async function countUnswept(db: Database, chain: ChainId, asset: string): Promise<void> {
  // Almost always there is nothing new, and then there is nothing to lock.
  const isNoted = async () => {
    const { rows } = await db.query('SELECT FROM unswept_changes WHERE chain = $1 AND asset = $2 LIMIT 1', [
      chain,
      asset,
    ]);
    return rows.length > 0;
  };
  while (await isNoted()) await countSome(db, chain, asset);
}

function countSome(db: Database, chain: ChainId, asset: string): Promise<void> {
  return db.transaction(async (tx) => {
    // By one at a time, so that nobody writes down an older sum over a newer one.
    await lockUntilCommit(tx, { kind: 'unsweptWallets', of: `${chain} ${asset}` });
    const { rows } = await tx.query<{ address: string }>(
      `DELETE FROM unswept_changes WHERE id = ANY (ARRAY(
         SELECT id FROM unswept_changes WHERE chain = $1 AND asset = $2 ORDER BY id LIMIT $3)) RETURNING address`,
      [chain, asset, changesPerCommit],
    );
    const addresses = [...new Set(rows.map(({ address }) => address))];
    // The emptied ones are an array and no join: before the table has statistics, a join compares each with every wallet.
    // A statement of its own sees all that was committed before the notes were taken, and perhaps more, which has its note.
    await tx.query(
      `WITH counted AS (
         SELECT a.address, s.atomic FROM unnest($3::text[]) a (address)
          CROSS JOIN LATERAL (
            SELECT sum(atomic) AS atomic FROM deposits d
             WHERE d.chain = $1 AND d.asset = $2 AND d.address = a.address AND d.swept_at IS NULL
               AND d.sweep_id IS NULL AND d.account_id IS NOT NULL) s
       ), emptied AS (
         DELETE FROM unswept_wallets WHERE chain = $1 AND asset = $2
            AND address = ANY (ARRAY(SELECT address FROM counted WHERE atomic IS NULL))
       )
       INSERT INTO unswept_wallets (chain, asset, address, atomic)
       SELECT $1, $2, address, atomic FROM counted WHERE atomic IS NOT NULL
       ON CONFLICT (chain, asset, address) DO UPDATE SET atomic = excluded.atomic`,
      [chain, asset, addresses],
    );
  });
}

/** The wallets on chain $1 with at least $3 of asset $2, most first, but none of $5, and at most $4 of them. */
export const richestWallets = `SELECT address FROM unswept_wallets
  WHERE chain = $1 AND asset = $2 AND atomic >= $3 AND address <> ALL ($5::text[])
  ORDER BY atomic DESC, address LIMIT $4`;
