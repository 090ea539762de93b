import type { Queryable, Transaction } from '../db/database.ts';
import { saleErrors } from './errors.ts';
import { type Order, type OrderRow, selectOrder, toOrder } from './order.ts';
import { sellerSql } from './seller.ts';

/** An order that a shop of this account has taken; what others have sold is not there, not even of the same domain. */
export async function findSale(db: Queryable, accountId: bigint, orderId: string): Promise<Order> {
  const { rows } = await db.query<OrderRow>(
    `${selectOrder} WHERE o.id = $1 AND o.status = 'completed' AND ${sellerSql} = $2`,
    [orderId, accountId],
  );
  if (rows[0] === undefined) throw saleErrors.sale_not_found();
  return toOrder(rows[0]);
}

/** The same, held until the caller's commit, so that two changes of it come one after the other. */
export async function lockSale(tx: Transaction, accountId: bigint, orderId: string): Promise<Order> {
  await tx.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findSale(tx, accountId, orderId);
}
