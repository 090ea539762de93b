import type { Queryable } from '../../kernel/db/database.ts';

/**
 * A stuck transaction's fee is raised this often, to about ten times the first fee. Beyond it, the operator decides.
 */
export const usualFeeLimit = 20;

/** The limit of one transaction, which the operator may have raised. */
export async function feeLimitOf(db: Queryable, providerRef: string): Promise<number> {
  const { rows } = await db.query<{ most: number }>('SELECT most FROM raised_fee_limits WHERE provider_ref = $1', [
    providerRef,
  ]);
  return rows[0]?.most ?? usualFeeLimit;
}
