import type { Database, Queryable } from '../../src/kernel/db/database.ts';
import { onlyRow } from '../../src/kernel/db/database.ts';
import { assetCode } from '../../src/ledger/account-id.ts';

export interface NewBudget {
  readonly most: bigint;
  readonly span?: 'once' | 'day' | 'week' | 'month' | 'rolling';
  readonly timeZone?: string;
  readonly seconds?: number;
  readonly currency?: 'USDC' | 'EURC';
  readonly onExceed?: 'deny' | 'ask';
  readonly name?: string;
}

/** A budget of a key, straight into its table: setting a policy is not what is tested here. */
export async function createBudget(
  db: Queryable,
  { id, keyId }: { readonly id: bigint; readonly keyId: string },
  { most, span = 'once', timeZone = 'UTC', seconds, currency = 'USDC', onExceed = 'deny', name = 'b' }: NewBudget,
): Promise<bigint> {
  const { rows } = await db.query<{ id: bigint }>(
    `INSERT INTO ledger.budgets (account_id, place, name, currency, span, time_zone, seconds, most, on_exceed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id`,
    [id, keyId, name, assetCode(currency), span, timeZone, seconds ?? null, most, onExceed],
  );
  return (rows[0] as { id: bigint }).id;
}

/** Counts a change of the account's policies, and returns the new number. */
export async function changeStamp(db: Queryable, accountId: bigint): Promise<bigint> {
  const { rows } = await db.query<{ stamp: bigint }>(
    `INSERT INTO key_stamps VALUES ($1, 1) ON CONFLICT (account_id) DO UPDATE SET stamp = key_stamps.stamp + 1 RETURNING stamp`,
    [accountId],
  );
  return (rows[0] as { stamp: bigint }).stamp;
}

export async function readBudget(
  db: Database,
  id: bigint,
): Promise<{ spent: bigint; remaining: bigint; resetsAt: Date | null }> {
  const row = onlyRow(
    await db.query<{ spent: string; remaining: string; resetsAt: Date | null }>(
      `SELECT s.spent, s.remaining, s.resets_at FROM ledger.budgets b, ledger.budget_states(ARRAY[b.place]) s
        WHERE b.id = $1 AND s.id = b.id`,
      [id],
    ),
  );
  return { spent: BigInt(row.spent), remaining: BigInt(row.remaining), resetsAt: row.resetsAt };
}
