/**
 * SQL: what account $1 sent to outside addresses within a day, with value and time. Failed and returned payments do not
 * count. A caller may choose the address of a seller, so payments to sellers count like withdrawals.
 */
export const sentWithinDay = `
  SELECT created_at, value FROM withdrawals
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status NOT IN ('failed', 'cancelled')
  UNION ALL
  SELECT created_at, amount AS value FROM purchases
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status <> 'returned'`;

/**
 * SQL: what all accounts sent after $1 (or within an hour if null) up to $2. The operator's own payouts do not count.
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
