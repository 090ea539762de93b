import type { Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/**
 * What an order is signed with: the secret of the account that received it. While the domain is still that account's, it is the one
 * that the account has now; afterwards the one that it had last, which the database keeps as long as the order is open. The secret of
 * a later owner is never used: the order goes to the address of the earlier one, who could pass it on.
 */
export async function unsealSecretOf(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  orderId: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ sealed: Buffer | null }>(
    `SELECT coalesce(m.sealed_orders_secret, s.sealed) AS sealed
       FROM orders o
       LEFT JOIN merchants m ON m.domain = o.domain AND m.account_id IS NOT DISTINCT FROM o.merchant_id
       LEFT JOIN order_secrets s ON s.order_id = o.id
      WHERE o.id = $1`,
    [orderId],
  );
  const sealed = rows[0]?.sealed ?? null;
  return sealed === null ? undefined : secrets.open('merchant-orders', sealed);
}
