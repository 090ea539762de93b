import type { Queryable } from '../db/database.ts';
import type { Withdrawal } from './withdrawal.ts';

/** After a restore from a backup the chain may have paid what stands here as unsent; a person decides that first. */
export async function mayBePaid(tx: Queryable, { chain }: Pick<Withdrawal, 'chain'>): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM unknown_transactions WHERE chain = $1 AND decided_at IS NULL LIMIT 1', [
    chain,
  ]);
  return rows.length > 0;
}
