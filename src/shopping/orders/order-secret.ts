import type { Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

/**
 * The secret that signs an order: the one of the account that received it. While that account owns the domain, it is the
 * account's current secret; afterwards it is the last one, which the database keeps until the order ends. The secret of a later
 * owner is never used, because the order goes to the earlier owner's URL, who could forward it.
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
