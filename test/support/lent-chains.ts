import pg from 'pg';
import { createChainTables } from '../../sandbox/chains/chain-tables.ts';
import { lockNumbers } from '../../src/kernel/db/locks.ts';
import type { TestChains } from './chains.ts';
import { type OwnDatabase, open } from './copied-database.ts';

/**
 * Lets a service on this database use chains that another one keeps, as real chains are kept by others: putting back a backup
 * changes nothing about them. Give them back before the database is copied.
 */
export async function lendChains(database: OwnDatabase, chains: TestChains): Promise<() => Promise<void>> {
  const db = open(database);
  await createChainTables(db);
  await db.close();
  const keeper = new pg.Client({ connectionString: database.url });
  await keeper.connect();
  await keeper.query('SELECT pg_advisory_lock($1)', [lockNumbers.sandboxChains]);
  for (const [chain, { urls }] of chains.local.settings) {
    await keeper.query(
      `INSERT INTO sandbox.chains (chain, genesis_time, url, served_by) VALUES ($1, 0, $2, pg_backend_pid())
       ON CONFLICT (chain) DO UPDATE SET url = excluded.url, served_by = excluded.served_by`,
      [chain, urls[0]],
    );
  }
  return () => keeper.end();
}
