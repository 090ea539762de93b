import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { saleErrors } from './errors.ts';
import { type Order, type OrderRow, selectOrder, toOrder } from './order.ts';

/**
 * SQL: orders that account $1 was paid for, even if the domain has another owner now, and orders paid to its domain before it had
 * an account.
 */
export const soldBy = `o.status = 'completed' AND (o.seller_id = $1 OR (o.seller_id IS NULL AND o.domain IN (
  SELECT c.name FROM claimants c WHERE c.kind = 'domain' AND c.account_id = $1)))`;

/** A sale of this account. Sales of a former or later owner of the same domain are not found. */
export async function findSale(db: Queryable, accountId: bigint, orderId: string): Promise<Order> {
  const { rows } = await db.query<OrderRow>(`${selectOrder} WHERE o.id = $2 AND ${soldBy}`, [accountId, orderId]);
  const [row] = rows;
  if (row === undefined) throw saleErrors.sale_not_found();
  return toOrder(row);
}

/** Locks the order until the caller commits, so that changes to it are serialized. */
export async function lockSale(tx: Transaction, accountId: bigint, orderId: string): Promise<Order> {
  await tx.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findSale(tx, accountId, orderId);
}
