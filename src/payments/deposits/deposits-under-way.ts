import type { UnderWayOf } from '../../accounts/closing/on-account-closing.ts';

/** Held deposits and debts for reversed ones keep an account from closing. */
export const depositsUnderWay: UnderWayOf = async (tx, accountId) => {
  const { rows } = await tx.query<{ kind: string; id: string }>(
    `SELECT 'deposit' AS kind, id FROM held_deposits WHERE account_id = $1 AND rejected_at IS NULL
     UNION ALL
     SELECT 'debt', deposit_id FROM deposit_reversals WHERE account_id = $1 AND owed > settled
     LIMIT 100`,
    [accountId],
  );
  return rows;
};
