/**
 * SQL: everything that the account $1 has sent to addresses outside within a day, with its value and its time. What came back does
 * not count. Sellers are paid at an address that whoever asks may have chosen, so these payments are withdrawals by another name.
 */
export const sentWithinDay = `
  SELECT created_at, value FROM withdrawals
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status NOT IN ('failed', 'cancelled')
  UNION ALL
  SELECT created_at, amount AS value FROM purchases
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status <> 'returned'`;

/**
 * SQL: what has left after $1, or within an hour if that is null, and not after $2, of all accounts. What the operator pays out is his
 * own, and does not count.
 */
export const leftBetween = `
  SELECT coalesce(sum(value), 0) AS value FROM (
    SELECT value FROM withdrawals
     WHERE let_go_at > coalesce($1::timestamptz, now() - interval '1 hour') AND let_go_at <= $2::timestamptz
       AND account_id IS NOT NULL AND status NOT IN ('failed', 'cancelled')
    UNION ALL
    SELECT amount AS value FROM purchases
     WHERE created_at > coalesce($1::timestamptz, now() - interval '1 hour') AND created_at <= $2::timestamptz
       AND status <> 'returned') sent`;
