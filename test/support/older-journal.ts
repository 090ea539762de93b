import type { Database } from '../../src/db/database.ts';
import type { RpcCall } from '../../src/sandbox/chains/evm-node.ts';

/** Takes entries from the journals of chains that are stopped, as if they had never been made. */
export async function forgetEntries(db: Database, sql: string, params: readonly unknown[]): Promise<number> {
  const { rowCount } = await db.query(`DELETE FROM sandbox.chain_journal WHERE ${sql}`, [...params]);
  // The numbers of a journal have no gaps. They are moved out of the way first, because each is there once.
  await db.query('UPDATE sandbox.chain_journal SET seq = -seq - 1');
  await db.query(
    `UPDATE sandbox.chain_journal j SET seq = numbered.seq
     FROM (SELECT chain, seq AS old, row_number() OVER (PARTITION BY chain ORDER BY seq DESC) - 1 AS seq
           FROM sandbox.chain_journal) AS numbered
     WHERE numbered.chain = j.chain AND numbered.old = j.seq`,
  );
  return rowCount ?? 0;
}

/** Adds to the journal of a chain that is stopped. */
export async function appendEntries(db: Database, chain: string, calls: readonly RpcCall[]): Promise<void> {
  for (const { method, params } of calls) {
    await db.query(
      `INSERT INTO sandbox.chain_journal (chain, seq, block_time, method, params)
       SELECT $1, max(seq) + 1, CASE WHEN $2 LIKE 'eth_send%' THEN extract(epoch FROM now())::bigint END, $2, $3
       FROM sandbox.chain_journal WHERE chain = $1`,
      [chain, method, JSON.stringify(params)],
    );
  }
}

export async function journalLength(db: Database): Promise<bigint> {
  const { rows } = await db.query<{ count: bigint }>('SELECT count(*) FROM sandbox.chain_journal');
  return rows[0]?.count ?? 0n;
}
