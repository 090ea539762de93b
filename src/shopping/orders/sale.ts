import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { saleErrors } from './errors.ts';
import { type Order, type OrderRow, selectOrder, toOrder } from './order.ts';

/**
 * SQL: orders that the account $1 was paid for, whoever has the domain now; or that its domain was, before it had an account.
 */
export const soldBy = `o.status = 'completed' AND (o.seller_id = $1 OR (o.seller_id IS NULL AND o.domain IN (
  SELECT c.name FROM claimants c WHERE c.kind = 'domain' AND c.account_id = $1)))`;

/** An order that a shop of this account has taken; what others have sold is not there, not even of the same domain. */
export async function findSale(db: Queryable, accountId: bigint, orderId: string): Promise<Order> {
  const { rows } = await db.query<OrderRow>(`${selectOrder} WHERE o.id = $2 AND ${soldBy}`, [accountId, orderId]);
  const [row] = rows;
  if (row === undefined) throw saleErrors.sale_not_found();
  return toOrder(row);
}

/** The same, held until the caller's commit, so that two changes of it come one after the other. */
export async function lockSale(tx: Transaction, accountId: bigint, orderId: string): Promise<Order> {
  await tx.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findSale(tx, accountId, orderId);
}
