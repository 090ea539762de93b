import type { Queryable } from '../../kernel/db/database.ts';

/** How often the fee of a stuck transaction is raised by itself: some ten times the first fee. Then a person decides to pay more. */
export const usualFeeLimit = 20;

/** The same for one transaction, by the name that its provider gave it: the operator may have raised it. */
export async function feeLimitOf(db: Queryable, providerRef: string): Promise<number> {
  const { rows } = await db.query<{ most: number }>('SELECT most FROM raised_fee_limits WHERE provider_ref = $1', [
    providerRef,
  ]);
  return rows[0]?.most ?? usualFeeLimit;
}
